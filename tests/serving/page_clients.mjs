// Reads streams with the clients of npm, as a page does: node page_clients.mjs FOLDER PROTOCOL ADDRESS SCENE...
// FOLDER has the packages. Prints, as JSON, what the client shows of ADDRESS/SCENE; of the scene "chat" what it shows after
// a person has approved the first call that waits, and rejected the second.
import { createRequire } from 'node:module';

const [folder, protocol, address, ...scenes] = process.argv.slice(2);
const require = createRequire(`${folder}/page.js`);

async function readVercel(scene) {
  const { DefaultChatTransport, readUIMessageStream } = require('ai');
  const seen = { errors: [] };
  const transport = new DefaultChatTransport({ api: `${address}/${scene}` });
  const stream = await transport.sendMessages({ chatId: 'c1', messages: [], trigger: 'submit-message' });
  const onError = error => seen.errors.push(error.message);
  for await (const message of readUIMessageStream({ stream, onError })) seen.message = message;
  return seen;
}

async function talkVercel() {
  const { AbstractChat, DefaultChatTransport } = require('ai');
  const state = {
    status: 'ready',
    error: undefined,
    messages: [],
    pushMessage: message => state.messages.push(message),
    popMessage: () => state.messages.pop(),
    replaceMessage: (at, message) => { state.messages[at] = message; },
    snapshot: thing => structuredClone(thing),
  };
  class Chat extends AbstractChat {}
  const errors = [];
  const onError = error => errors.push(error.message);
  const chat = new Chat({ id: 'c1', state, onError, transport: new DefaultChatTransport({ api: `${address}/chat` }) });
  await chat.sendMessage({ text: 'hi' });
  const waiting = state.messages.at(-1).parts.filter(part => part.state === 'approval-requested');
  await chat.addToolApprovalResponse({ id: waiting[0].approval.id, approved: true });
  await chat.addToolApprovalResponse({ id: waiting[1].approval.id, approved: false, reason: 'too much' });
  await chat.sendMessage();
  return { errors, messages: state.messages };
}

function makeAgent(scene) {
  const { HttpAgent } = require('@ag-ui/client');
  return new HttpAgent({ url: `${address}/${scene}`, threadId: 't1', initialMessages: [{ id: 'u', role: 'user', content: 'hi' }] });
}

async function readAgUi(scene, agent = makeAgent(scene), options = { runId: 'run1' }) {
  const seen = { errors: [] };
  await agent.runAgent(options, {
    onRunErrorEvent: ({ event }) => { seen.errors.push(event.message); },
    onRunFinishedEvent: ({ event }) => { seen.outcome = event.outcome; },
    onStateChanged: ({ state }) => { seen.state = state; },
  });
  return { ...seen, messages: agent.messages };
}

async function talkAgUi() {
  const agent = makeAgent('chat');
  const { outcome } = await readAgUi('chat', agent);
  const payloads = [{ approved: true }, { approved: false, reason: 'too much' }];
  const resume = outcome.interrupts.map(({ id }, at) => ({ interruptId: id, status: 'resolved', payload: payloads[at] }));
  return readAgUi('chat', agent, { runId: 'run2', resume });
}

const [read, talk] = protocol === 'vercel' ? [readVercel, talkVercel] : [readAgUi, talkAgUi];
const shown = {};
for (const scene of scenes) {
  try {
    shown[scene] = await (scene === 'chat' ? talk() : read(scene));
  } catch (error) {
    shown[scene] = { raised: String(error?.message ?? error) };
  }
}
console.log(JSON.stringify(shown));
process.exit(0);
