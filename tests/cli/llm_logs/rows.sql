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
INSERT INTO "conversations" VALUES('01m8k43j09wgn34tn2drdh8rh9','Why is the sky blue?','small');
INSERT INTO "conversations" VALUES('01m8k43sdgmgh3xp6de1wt7fhp','What is 2 + 3?','small');
INSERT INTO "conversations" VALUES('01m8k43xz8qn27w8ttd8dcmb36','Notes about the sea. Summarise','small');
INSERT INTO "conversations" VALUES('01m8k443f3eq7w2w6bkte658bb','What is it?','small');
INSERT INTO "conversations" VALUES('01m8k4474pcba7hmqdt64ydd5h','And this?','small');
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
INSERT INTO "fragments" VALUES(1,'77126651d3a14e6b5d59735626c954b937c5fdfaf4494748cc92095a6674147e','Notes about the sea.','2026-11-29 07:43:07','/home/ada/notes.txt');
CREATE TABLE "prompt_attachments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "attachment_id")
);
INSERT INTO "prompt_attachments" VALUES('01m8k442t6346xec14407pbgqd','a44fd1444d0d4950a6629828085004c84f72a1a602747720829132a894f286ac',0);
INSERT INTO "prompt_attachments" VALUES('01m8k446tvg7ym4j81zzn8prmw','04f85b42dd243ebbf356d9f0586ed77f52c9e4c61e99c55f9e66746bd88d4003',0);
CREATE TABLE "prompt_fragments" (
   "response_id" TEXT REFERENCES "responses"("id"),
   "fragment_id" INTEGER REFERENCES "fragments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("response_id", "fragment_id", "order")
);
INSERT INTO "prompt_fragments" VALUES('01m8k43xptma5v1m86qbdh674c',1,0);
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
);
INSERT INTO "responses" VALUES('01m8k43hq14y59jrypm0z7naxx','small','Why is the sky blue?','Be brief.','{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"}]}','{}','Blue light scatters.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k43hq14y59jrypm0z7naxx"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 3, "prompt_tokens": 7, "total_tokens": 10}}','01m8k43j09wgn34tn2drdh8rh9',286,'2026-11-29T07:42:54.699781+00:00',7,3,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k43ncdg1zyjafcgzsw552q','small','And at sunset?',NULL,'{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why is the sky blue?"}, {"role": "assistant", "content": "Blue light scatters."}, {"role": "user", "content": "And at sunset?"}]}','{}','The way is longer.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k43ncdg1zyjafcgzsw552q"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 4, "prompt_tokens": 13, "total_tokens": 17}}','01m8k43j09wgn34tn2drdh8rh9',410,'2026-11-29T07:42:58.445105+00:00',13,4,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k43sdyx2b76waqgs48z24s','small','What is 2 + 3?',NULL,'{"messages": [{"role": "user", "content": "What is 2 + 3?"}]}','{}','','{"id": "chatcmpl-test", "choices": [{"finish_reason": "tool_calls", "index": 0, "message": {"role": "assistant", "tool_calls": [{"id": "call_1", "function": {"arguments": "{\"a\":2,\"b\":3}", "name": "add"}, "type": "function"}]}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 5, "total_tokens": 7}}','01m8k43sdgmgh3xp6de1wt7fhp',270,'2026-11-29T07:43:02.590551+00:00',5,2,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k43spcsy6w5nqywrrw51gp','small','',NULL,'{"messages": [{"role": "user", "content": "What is 2 + 3?"}, {"role": "assistant", "tool_calls": [{"type": "function", "id": "call_1", "function": {"name": "add", "arguments": "{\"a\": 2, \"b\": 3}"}}]}, {"role": "tool", "tool_call_id": "call_1", "content": "5"}]}','{}','It is 5.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k43spcsy6w5nqywrrw51gp"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 3, "prompt_tokens": 6, "total_tokens": 9}}','01m8k43sdgmgh3xp6de1wt7fhp',115,'2026-11-29T07:43:02.860825+00:00',6,3,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k43xptma5v1m86qbdh674c','small','Summarise',NULL,'{"messages": [{"role": "user", "content": {"$r": [{"$": "f1"}, "\nSummarise"]}}]}','{}','A summary.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k43xptma5v1m86qbdh674c"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 5, "total_tokens": 7}}','01m8k43xz8qn27w8ttd8dcmb36',269,'2026-11-29T07:43:06.970552+00:00',5,2,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k442t6346xec14407pbgqd','small','What is it?',NULL,'{"messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": "data:..."}}]}]}','{}','A cat.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k442t6346xec14407pbgqd"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 3, "total_tokens": 5}}','01m8k443f3eq7w2w6bkte658bb',669,'2026-11-29T07:43:12.198553+00:00',3,2,NULL,NULL);
INSERT INTO "responses" VALUES('01m8k446tvg7ym4j81zzn8prmw','small','And this?',NULL,'{"messages": [{"role": "user", "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:..."}}]}]}','{}','A dog.','{"id": "chatcmpl-test", "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": {"$": "r:01m8k446tvg7ym4j81zzn8prmw"}, "role": "assistant"}}], "created": 1700000000, "model": "small", "object": "chat.completion", "system_fingerprint": "fp_test", "usage": {"completion_tokens": 2, "prompt_tokens": 2, "total_tokens": 4}}','01m8k4474pcba7hmqdt64ydd5h',315,'2026-11-29T07:43:16.315158+00:00',2,2,NULL,NULL);
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
CREATE TABLE "tool_calls" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "arguments" TEXT,
   "tool_call_id" TEXT
);
INSERT INTO "tool_calls" VALUES(1,'01m8k43sdyx2b76waqgs48z24s',1,'add','{"a": 2, "b": 3}','call_1');
CREATE TABLE "tool_instances" (
   "id" INTEGER PRIMARY KEY,
   "plugin" TEXT,
   "name" TEXT,
   "arguments" TEXT
);
CREATE TABLE "tool_responses" (
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "response_id" TEXT REFERENCES "responses"("id"),
   PRIMARY KEY ("tool_id", "response_id")
);
INSERT INTO "tool_responses" VALUES(1,'01m8k43sdyx2b76waqgs48z24s');
INSERT INTO "tool_responses" VALUES(1,'01m8k43spcsy6w5nqywrrw51gp');
CREATE TABLE "tool_results" (
   "id" INTEGER PRIMARY KEY,
   "response_id" TEXT REFERENCES "responses"("id"),
   "tool_id" INTEGER REFERENCES "tools"("id"),
   "name" TEXT,
   "output" TEXT,
   "tool_call_id" TEXT,
   "instance_id" INTEGER REFERENCES "tool_instances"("id")
);
INSERT INTO "tool_results" VALUES(1,'01m8k43spcsy6w5nqywrrw51gp',1,'add','5','call_1',NULL);
CREATE TABLE "tools" (
   "id" INTEGER PRIMARY KEY,
   "hash" TEXT,
   "name" TEXT,
   "description" TEXT,
   "input_schema" TEXT
, "plugin" TEXT);
INSERT INTO "tools" VALUES(1,'b0a40372651820921adcf4250f9bfaa16b17ae743c20cfaef1641e6d6b039611','add','Add.','{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "type": "object"}',NULL);
CREATE UNIQUE INDEX "idx_fragments_hash"
    ON "fragments" ("hash");
CREATE UNIQUE INDEX "idx_tools_hash"
    ON "tools" ("hash");
COMMIT;
