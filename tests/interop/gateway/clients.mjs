// The clients of npm: node clients.mjs HOME NAME ADDRESS KEY SCENES, as clients.py beside it.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [home, name, url, key, scenes] = process.argv.slice(2);
const require = createRequire(`${home}/`);
const load = (path) => import(pathToFileURL(require.resolve(path)).href);
const question = "Weather in Oslo?";
const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const cityOf = {
  type: "object",
  properties: { name: { type: "string" }, people: { type: "integer" } },
  required: ["name", "people"],
  additionalProperties: false,
};
let calls = [];

function weather(args) {
  calls.push(args);
  return "rain";
}

const makers = {
  async "openai-js"(apiKey) {
    const { OpenAI } = await load("openai");
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey });
    const talk = [{ role: "developer", content: "Be brief." }, { role: "user", content: question }];
    const ask = (model, more) => client.chat.completions.create({ model, messages: talk, ...more });
    return {
      answer: async (model) => (await ask(model)).choices[0].message.content,
      async *stream(model) {
        for await (const chunk of await ask(model, { stream: true })) yield chunk.choices[0]?.delta.content ?? "";
      },
      async tool(model) {
        const fn = { name: "weather", parameters: schema, parse: JSON.parse, function: weather };
        const runner = client.chat.completions.runTools({ model, messages: talk, tools: [{ type: "function", function: fn }] });
        return await runner.finalContent();
      },
      async typed(model) {
        const json_schema = { name: "city", schema: cityOf, strict: true };
        const said = await ask(model, { response_format: { type: "json_schema", json_schema } });
        return JSON.parse(said.choices[0].message.content);
      },
      embed: async (model) => (await client.embeddings.create({ model, input: question })).data[0].embedding,
    };
  },

  async "openai-js-responses"(apiKey) {
    const { OpenAI } = await load("openai");
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey });
    const ask = (model, more) => client.responses.create({ model, instructions: "Be brief.", input: question, ...more });
    return {
      answer: async (model) => (await ask(model)).output_text,
      async *stream(model) {
        for await (const event of await ask(model, { stream: true })) {
          if (event.type === "response.output_text.delta") yield event.delta;
        }
      },
      async tool(model) {
        const tools = [{ type: "function", name: "weather", parameters: schema, strict: true }];
        const said = await ask(model, { tools });
        const call = said.output.find((item) => item.type === "function_call");
        const output = weather(JSON.parse(call.arguments));
        const result = { type: "function_call_output", call_id: call.call_id, output };
        return (await ask(model, { tools, input: [{ role: "user", content: question }, ...said.output, result] })).output_text;
      },
      async typed(model) {
        const format = { type: "json_schema", name: "city", schema: cityOf, strict: true };
        return JSON.parse((await ask(model, { text: { format } })).output_text);
      },
    };
  },

  async "anthropic-js"(apiKey) {
    const { Anthropic } = await load("@anthropic-ai/sdk");
    const client = new Anthropic({ baseURL: url, apiKey });
    const ask = (model, more) => ({ model, max_tokens: 500, system: "Be brief.", messages: [{ role: "user", content: question }], ...more });
    const textOf = (message) => message.content.filter((one) => one.type === "text").map((one) => one.text).join("");
    return {
      answer: async (model) => textOf(await client.messages.create(ask(model))),
      async *stream(model) {
        for await (const event of client.messages.stream(ask(model))) {
          if (event.type === "content_block_delta" && event.delta.type === "text_delta") yield event.delta.text;
        }
      },
      async tool(model) {
        const tools = [{ name: "weather", input_schema: schema }];
        const said = await client.messages.create(ask(model, { tools }));
        const call = said.content.find((one) => one.type === "tool_use");
        const result = { type: "tool_result", tool_use_id: call.id, content: weather(call.input) };
        const messages = [
          { role: "user", content: question },
          { role: "assistant", content: said.content },
          { role: "user", content: [result] },
        ];
        return textOf(await client.messages.create(ask(model, { tools, messages })));
      },
      async typed(model) {
        const output_config = { format: { type: "json_schema", schema: cityOf } };
        return JSON.parse(textOf(await client.messages.create(ask(model, { output_config }))));
      },
    };
  },

  "ai-openai": async (apiKey) => {
    const { createOpenAI } = await load("@ai-sdk/openai");
    return aiOf(createOpenAI({ baseURL: `${url}/v1`, apiKey }));
  },
  "ai-openai-compatible": async (apiKey) => {
    const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
    const options = { name: "hocket", baseURL: `${url}/v1`, apiKey, supportsStructuredOutputs: true };
    return aiOf(createOpenAICompatible(options));
  },
  "ai-anthropic": async (apiKey) => {
    const { createAnthropic } = await load("@ai-sdk/anthropic");
    return aiOf(createAnthropic({ baseURL: `${url}/v1`, apiKey }));
  },
};

// By default the provider for OpenAI refers to what a model has said by its id, which a server has to have kept: a talk of
// several turns goes through a gateway that keeps nothing with store: false.
const providerOptions = { openai: { store: false } };

async function aiOf(provider) {
  const { embed, generateText, streamText, tool, jsonSchema, stepCountIs, isStepCount, Output } = await load("ai");
  const stopWhen = (stepCountIs ?? isStepCount)(3);
  const ask = (model, more) => ({ model: provider(model), instructions: "Be brief.", prompt: question, ...more });
  return {
    answer: async (model) => (await generateText(ask(model))).text,
    async *stream(model, signal) {
      let failure;
      const onError = ({ error }) => (failure = error);
      yield* streamText(ask(model, { abortSignal: signal, onError })).textStream;
      if (failure) throw failure;
    },
    async tool(model) {
      const tools = { weather: tool({ inputSchema: jsonSchema(schema), execute: weather }) };
      return (await generateText(ask(model, { tools, stopWhen, providerOptions }))).text;
    },
    embed: async (model) => (await embed({ model: provider.textEmbeddingModel(model), value: question })).embedding,
    typed: async (model) => (await generateText(ask(model, { output: Output.object({ schema: jsonSchema(cityOf) }) }))).output,
  };
}

function explain(error) {
  const all = [error, error.cause, error.lastError, error.cause?.cause].filter(Boolean);
  const status = all.map((one) => one.status ?? one.statusCode).find((one) => one);
  const failed = all.map((one) => `${one.message} ${one.responseBody ?? ""}`).join(" ").slice(0, 2000);
  return { failed, status, error: error.constructor.name };
}

async function play(what, model) {
  const client = await makers[name](what === "unknown key" ? "a-wrong-key-of-mine" : key);
  try {
    if (what === "stream") {
      const texts = [];
      for await (const text of client.stream(model)) if (text) texts.push(text);
      return texts;
    }
    if (what === "leave") {
      const leave = new AbortController();
      for await (const text of client.stream(model, leave.signal)) {
        if (!text) continue;
        leave.abort();
        return text;
      }
    }
    if (what === "tool") {
      calls = [];
      const text = await client.tool(model);
      return [calls, text];
    }
    if (what === "embed") return await client.embed(model);
    if (what === "typed") return await client.typed(model);
    return await client.answer(model);
  } catch (error) {
    return explain(error);
  }
}

const told = [];
for (const [what, model] of JSON.parse(scenes)) {
  const playing = play(what, model);
  told.push(what === "busy" || what === "spent budget" ? playing : await playing); // clients wait between their attempts
}
console.log(JSON.stringify(await Promise.all(told)));
process.exit(0);
