BEGIN TRANSACTION;
CREATE TABLE "_llm_migrations" (
   "name" TEXT PRIMARY KEY,
   "applied_at" TEXT
);
CREATE TABLE "attachments" (
   "id" TEXT PRIMARY KEY,
   "type" TEXT,
   "path" TEXT,
   "url" TEXT,
   "content" BLOB
);
INSERT INTO "attachments" VALUES('a44fd1444d0d4950a6629828085004c84f72a1a602747720829132a894f286ac','image/png','/home/ada/sky.png',NULL,NULL);
INSERT INTO "attachments" VALUES('04f85b42dd243ebbf356d9f0586ed77f52c9e4c61e99c55f9e66746bd88d4003','image/png',NULL,NULL,X'89504E470D0A1A0A207069637475726521');
CREATE TABLE "conversations" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "model" TEXT
);
CREATE TABLE "fragment_aliases" (
   "alias" TEXT PRIMARY KEY,
   "fragment_id" INTEGER REFERENCES "fragments"("id")
);
CREATE TABLE "fragments" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "content" TEXT,
   "datetime_utc" TEXT,
   "source" TEXT
);
INSERT INTO "fragments" VALUES(1,'77126651d3a14e6b5d59735626c954b937c5fdfaf4494748cc92095a6674147e','Notes about the sea.','2026-11-29 07:43:38','/home/ada/notes.txt');
CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
INSERT INTO "messages" VALUES('b2:074dea0bd0259e0d5dca16426a45e4f5',NULL,'system',NULL);
INSERT INTO "messages" VALUES('b2:894a95265e85da1302de54f3ee9c1da5','b2:074dea0bd0259e0d5dca16426a45e4f5','user',NULL);
INSERT INTO "messages" VALUES('b2:e9e303cb0c3e8df4cca31ad03eb925aa','b2:894a95265e85da1302de54f3ee9c1da5','assistant',NULL);
INSERT INTO "messages" VALUES('b2:1d24854890152885b3bc39f5e06e5528','b2:e9e303cb0c3e8df4cca31ad03eb925aa','user',NULL);
INSERT INTO "messages" VALUES('b2:76ed6f1a5ff5deb6d95982e4ccd8be47','b2:1d24854890152885b3bc39f5e06e5528','assistant',NULL);
INSERT INTO "messages" VALUES('b2:b95d8bcc07759ee3b2b0b0ccd8fc6947',NULL,'user',NULL);
INSERT INTO "messages" VALUES('b2:8c56f9c4a1c8ecaa6cbcdb39573ece4c','b2:b95d8bcc07759ee3b2b0b0ccd8fc6947','assistant',NULL);
INSERT INTO "messages" VALUES('b2:b7dbf855490a45f6bc97a7735ee5b63e','b2:8c56f9c4a1c8ecaa6cbcdb39573ece4c','tool',NULL);
INSERT INTO "messages" VALUES('b2:378e0586b4069d681633958796ec3cce','b2:b7dbf855490a45f6bc97a7735ee5b63e','assistant',NULL);
INSERT INTO "messages" VALUES('b2:e57235940d3e8841194fd665d751b752',NULL,'user',NULL);
INSERT INTO "messages" VALUES('b2:b637df4a81f3b9077878f90abcb76886','b2:e57235940d3e8841194fd665d751b752','assistant',NULL);
INSERT INTO "messages" VALUES('b2:8f3c0f4846cde6c22439ff63703a17b0',NULL,'user',NULL);
INSERT INTO "messages" VALUES('b2:00c517014a93c8bd84e9350d03f85e0c','b2:8f3c0f4846cde6c22439ff63703a17b0','assistant',NULL);
INSERT INTO "messages" VALUES('b2:002554228b9a921d38cbb71892901bbe',NULL,'user',NULL);
INSERT INTO "messages" VALUES('b2:dce1f9c11d8c23f88d9ef57489182fc0','b2:002554228b9a921d38cbb71892901bbe','assistant',NULL);
CREATE TABLE "part_attachments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "attachment_id", "order")
);
INSERT INTO "part_attachments" VALUES(13,'a44fd1444d0d4950a6629828085004c84f72a1a602747720829132a894f286ac',0);
INSERT INTO "part_attachments" VALUES(16,'04f85b42dd243ebbf356d9f0586ed77f52c9e4c61e99c55f9e66746bd88d4003',0);
CREATE TABLE "part_fragments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "fragment_id", "order")
);
INSERT INTO "part_fragments" VALUES(10,1,0);
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "message_hash" TEXT REFERENCES "messages"("hash"),
   "position" INTEGER,
   "type" TEXT,
   "tool_name" TEXT,
   "text" TEXT,
   "payload" TEXT
);
INSERT INTO "parts" VALUES(1,'b2:074dea0bd0259e0d5dca16426a45e4f5',0,'text',NULL,'Be brief.',NULL);
INSERT INTO "parts" VALUES(2,'b2:894a95265e85da1302de54f3ee9c1da5',0,'text',NULL,'Why is the sky blue?',NULL);
INSERT INTO "parts" VALUES(3,'b2:e9e303cb0c3e8df4cca31ad03eb925aa',0,'text',NULL,'Blue light scatters.',NULL);
INSERT INTO "parts" VALUES(4,'b2:1d24854890152885b3bc39f5e06e5528',0,'text',NULL,'And at sunset?',NULL);
INSERT INTO "parts" VALUES(5,'b2:76ed6f1a5ff5deb6d95982e4ccd8be47',0,'text',NULL,'The way is longer.',NULL);
INSERT INTO "parts" VALUES(6,'b2:b95d8bcc07759ee3b2b0b0ccd8fc6947',0,'text',NULL,'What is 2 + 3?',NULL);
INSERT INTO "parts" VALUES(7,'b2:8c56f9c4a1c8ecaa6cbcdb39573ece4c',0,'tool_call','add',NULL,'{"name": "add", "arguments": {"a": 2, "b": 3}, "tool_call_id": "call_1"}');
INSERT INTO "parts" VALUES(8,'b2:b7dbf855490a45f6bc97a7735ee5b63e',0,'tool_result','add',NULL,'{"name": "add", "output": "5", "tool_call_id": "call_1"}');
INSERT INTO "parts" VALUES(9,'b2:378e0586b4069d681633958796ec3cce',0,'text',NULL,'It is 5.',NULL);
INSERT INTO "parts" VALUES(10,'b2:e57235940d3e8841194fd665d751b752',0,'text',NULL,NULL,'{"text_ref": [{"fragment": 1}, {"literal": "\nSummarise"}]}');
INSERT INTO "parts" VALUES(11,'b2:b637df4a81f3b9077878f90abcb76886',0,'text',NULL,'A summary.',NULL);
INSERT INTO "parts" VALUES(12,'b2:8f3c0f4846cde6c22439ff63703a17b0',0,'text',NULL,'What is it?',NULL);
INSERT INTO "parts" VALUES(13,'b2:8f3c0f4846cde6c22439ff63703a17b0',1,'attachment',NULL,NULL,'{"attachment": {"id": "a44fd1444d0d4950a6629828085004c84f72a1a602747720829132a894f286ac"}}');
INSERT INTO "parts" VALUES(14,'b2:00c517014a93c8bd84e9350d03f85e0c',0,'text',NULL,'A cat.',NULL);
INSERT INTO "parts" VALUES(15,'b2:002554228b9a921d38cbb71892901bbe',0,'text',NULL,'And this?',NULL);
INSERT INTO "parts" VALUES(16,'b2:002554228b9a921d38cbb71892901bbe',1,'attachment',NULL,NULL,'{"attachment": {"id": "04f85b42dd243ebbf356d9f0586ed77f52c9e4c61e99c55f9e66746bd88d4003"}}');
INSERT INTO "parts" VALUES(17,'b2:dce1f9c11d8c23f88d9ef57489182fc0',0,'text',NULL,'A dog.',NULL);
CREATE TABLE "prompt_attachments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "attachment_id")
);
CREATE TABLE "prompt_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "responses" (
   "id" TEXT PRIMARY KEY,
   "model" TEXT,
   "prompt" TEXT,
   "system" TEXT,
   "prompt_json" TEXT,
   "options_json" TEXT,
   "response" TEXT,
   "response_json" TEXT,
   "conversation_id" TEXT REFERENCES "conversations"("id"),
   "duration_ms" INTEGER,
   "datetime_utc" TEXT,
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id")
, "resolved_model" TEXT, "reasoning" TEXT);
CREATE TABLE "schemas" (
   "id" TEXT PRIMARY KEY,
   "content" TEXT
);
CREATE TABLE "system_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO "threads" VALUES('01m8k44jmvj95jjnv781cnzsqe','Why is the sky blue?','b2:76ed6f1a5ff5deb6d95982e4ccd8be47',NULL,'2026-11-29 07:43:28.715437+00:00');
INSERT INTO "threads" VALUES('01m8k44rkce3rs968qjtpmeqsc','What is 2 + 3?','b2:378e0586b4069d681633958796ec3cce',NULL,'2026-11-29 07:43:34.879062+00:00');
INSERT INTO "threads" VALUES('01m8k44vwbr2btpy0nrnp554jr','Notes about the sea. Summarise','b2:b637df4a81f3b9077878f90abcb76886',NULL,'2026-11-29 07:43:38.192597+00:00');
INSERT INTO "threads" VALUES('01m8k44zcz3cxet54751sr039s','What is it?','b2:00c517014a93c8bd84e9350d03f85e0c',NULL,'2026-11-29 07:43:41.774959+00:00');
INSERT INTO "threads" VALUES('01m8k452h6q9h64fec62asfsq2','And this?','b2:dce1f9c11d8c23f88d9ef57489182fc0',NULL,'2026-11-29 07:43:45.009494+00:00');
CREATE TABLE "tool_calls" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "arguments" TEXT,
   "tool_call_id" TEXT
);
CREATE TABLE "tool_instances" (
   "id" INTEGER PRIMARY KEY,
   "plugin" TEXT,
   "name" TEXT,
   "arguments" TEXT
);
CREATE TABLE "tool_instantiations" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_call_id")
);
CREATE TABLE "tool_responses" (
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "response_id" TEXT REFERENCES "responses"("id"),
   PRIMARY KEY ("tool_id", "response_id")
);
CREATE TABLE "tool_results" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "output" TEXT,
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id")
, "exception" TEXT);
CREATE TABLE "tool_results_attachments" (
   "tool_result_id" INTEGER REFERENCES "tool_results"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("tool_result_id", "attachment_id")
);
CREATE TABLE "tools" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "name" TEXT,
   "description" TEXT,
   "input_schema" TEXT
, "plugin" TEXT);
INSERT INTO "tools" VALUES(1,'b0a40372651820921adcf4250f9bfaa16b17ae743c20cfaef1641e6d6b039611','add','Add.','{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "type": "object"}',NULL);
CREATE TABLE "turn_fragments" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   "kind" TEXT,
   PRIMARY KEY ("turn_id", "fragment_id", "kind", "order")
);
INSERT INTO "turn_fragments" VALUES('01m8k44vwch0rtwg805jkde4v6',1,0,'prompt');
CREATE TABLE "turn_search" (
   "id" INTEGER PRIMARY KEY,
   "turn_id" TEXT REFERENCES "turns"("id"),
   "prompt" TEXT,
   "response" TEXT
);
INSERT INTO "turn_search" VALUES(1,'01m8k44jmwf0cgmpr20yneqr70','Why is the sky blue?','Blue light scatters.');
INSERT INTO "turn_search" VALUES(2,'01m8k44p1wpm3ha4ye4gyyhb0m','And at sunset?','The way is longer.');
INSERT INTO "turn_search" VALUES(3,'01m8k44rkwwnfmj2k5bjnnxgpj','What is 2 + 3?','');
INSERT INTO "turn_search" VALUES(4,'01m8k44rts0f4ezkmrbh24jch8','','It is 5.');
INSERT INTO "turn_search" VALUES(5,'01m8k44vwch0rtwg805jkde4v6','
Summarise','A summary.');
INSERT INTO "turn_search" VALUES(6,'01m8k44zdd1ps99v1sv1j1pyhv','What is it?','A cat.');
INSERT INTO "turn_search" VALUES(7,'01m8k452h7k3e3bt6566x85ha4','And this?','A dog.');
CREATE TABLE "turn_tools" (
   "turn_id" TEXT REFERENCES "turns"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "instance_id" INTEGER REFERENCES "tool_instances"("id"),
   PRIMARY KEY ("turn_id", "tool_id")
);
INSERT INTO "turn_tools" VALUES('01m8k44rkwwnfmj2k5bjnnxgpj',1,NULL);
INSERT INTO "turn_tools" VALUES('01m8k44rts0f4ezkmrbh24jch8',1,NULL);
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
INSERT INTO "turns" VALUES('01m8k44jmwf0cgmpr20yneqr70','01m8k44jmvj95jjnv781cnzsqe','b2:894a95265e85da1302de54f3ee9c1da5','b2:e9e303cb0c3e8df4cca31ad03eb925aa','small',NULL,NULL,NULL,7,3,NULL,292,'2026-11-29T07:43:28.421756+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "Blue light scatters.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 3, "prompt_tokens": 7, "total_tokens": 10}}');
INSERT INTO "turns" VALUES('01m8k44p1wpm3ha4ye4gyyhb0m','01m8k44jmvj95jjnv781cnzsqe','b2:1d24854890152885b3bc39f5e06e5528','b2:76ed6f1a5ff5deb6d95982e4ccd8be47','small',NULL,NULL,NULL,13,4,NULL,355,'2026-11-29T07:43:31.900534+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "The way is longer.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 4, "prompt_tokens": 13, "total_tokens": 17}}');
INSERT INTO "turns" VALUES('01m8k44rkwwnfmj2k5bjnnxgpj','01m8k44rkce3rs968qjtpmeqsc','b2:b95d8bcc07759ee3b2b0b0ccd8fc6947','b2:8c56f9c4a1c8ecaa6cbcdb39573ece4c','small',NULL,NULL,NULL,5,2,NULL,220,'2026-11-29T07:43:34.524978+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "tool_calls", "index": 0, "message": {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"arguments": "{\"a\":2,\"b\":3}", "name": "add"}, "type": "function"}]}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 5, "total_tokens": 7}}');
INSERT INTO "turns" VALUES('01m8k44rts0f4ezkmrbh24jch8','01m8k44rkce3rs968qjtpmeqsc','b2:b7dbf855490a45f6bc97a7735ee5b63e','b2:378e0586b4069d681633958796ec3cce','small',NULL,NULL,NULL,6,3,NULL,133,'2026-11-29T07:43:34.745469+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "It is 5.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 3, "prompt_tokens": 6, "total_tokens": 9}}');
INSERT INTO "turns" VALUES('01m8k44vwch0rtwg805jkde4v6','01m8k44vwbr2btpy0nrnp554jr','b2:e57235940d3e8841194fd665d751b752','b2:b637df4a81f3b9077878f90abcb76886','small',NULL,NULL,NULL,5,2,NULL,323,'2026-11-29T07:43:37.868695+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "A summary.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 5, "total_tokens": 7}}');
INSERT INTO "turns" VALUES('01m8k44zdd1ps99v1sv1j1pyhv','01m8k44zcz3cxet54751sr039s','b2:8f3c0f4846cde6c22439ff63703a17b0','b2:00c517014a93c8bd84e9350d03f85e0c','small',NULL,NULL,NULL,3,2,NULL,288,'2026-11-29T07:43:41.485996+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "A cat.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 3, "total_tokens": 5}}');
INSERT INTO "turns" VALUES('01m8k452h7k3e3bt6566x85ha4','01m8k452h6q9h64fec62asfsq2','b2:002554228b9a921d38cbb71892901bbe','b2:dce1f9c11d8c23f88d9ef57489182fc0','small',NULL,NULL,NULL,2,2,NULL,329,'2026-11-29T07:43:44.679373+00:00','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": "A dog.", "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 2, "total_tokens": 4}}');
CREATE UNIQUE INDEX "idx_fragments_hash"
    ON "fragments" ("hash");
CREATE UNIQUE INDEX "idx_tools_hash"
    ON "tools" ("hash");
CREATE INDEX "idx_messages_parent_hash"
    ON "messages" ("parent_hash");
CREATE UNIQUE INDEX "idx_parts_message_hash_position"
    ON "parts" ("message_hash", "position");
CREATE INDEX "idx_part_fragments_fragment_id"
    ON "part_fragments" ("fragment_id");
CREATE INDEX "idx_turns_thread_id"
    ON "turns" ("thread_id");
CREATE INDEX "idx_turn_fragments_fragment_id"
    ON "turn_fragments" ("fragment_id");
CREATE UNIQUE INDEX "idx_turn_search_turn_id"
    ON "turn_search" ("turn_id");
CREATE VIEW "message_tree" AS with recursive msg as (
  select m.hash, m.parent_hash, m.role, m.rowid as rid,
    replace(coalesce(
      nullif(p.text, ''),
      (select f.content from part_fragments pf
       join fragments f on f.id = pf.fragment_id
       where pf.part_id = p.id
       order by pf."order" limit 1),
      '[' || coalesce(p.type, 'empty') || ']'
    ), char(10), ' ') as text,
    (select group_concat(p2.tool_name, ', ') from parts p2
     where p2.message_hash = m.hash and p2.type = 'tool_result'
       and p2.tool_name is not null) as tools
  from messages m
  left join parts p on p.message_hash = m.hash and p.position = 0
),
tree as (
  select hash, text, tools, 0 as depth,
    printf('%012d', rid) as path, hash as root_hash
  from msg where parent_hash is null
  union all
  select msg.hash, msg.text, msg.tools, t.depth + 1,
    t.path || '/' || printf('%012d', msg.rid),
    t.root_hash
  from msg join tree t on msg.parent_hash = t.hash
),
turn_chain as (
  select t.id as turn_id, t.datetime_utc, m.hash, m.parent_hash
  from turns t join messages m on m.hash = t.tip_message_hash
  union all
  select tc.turn_id, tc.datetime_utc, m.hash, m.parent_hash
  from turn_chain tc join messages m on m.hash = tc.parent_hash
)
select
  t.root_hash,
  strftime('%Y-%m-%d %H:%M:%S',
    (select min(tc.datetime_utc) from turn_chain tc where tc.hash = t.hash)
  ) as datetime,
  replace(hex(zeroblob(t.depth)), '00', '    ') || substr(t.text, 1, 60)
    as message,
  coalesce(t.tools, '') as tools,
  t.hash as message_hash,
  t.path
from tree t
order by t.path;
COMMIT;
