// Talks over the Responses API with the AI SDK: one JSON object a line, {"url", "bank", "text", "kept", "stream"}, each
// with {"text"}. The conversation is kept here: of its messages the first `kept` stay, and the text is said after them.

import { createInterface } from "node:readline";

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText } from "ai";

const messages = [];

for await (const line of createInterface({ input: process.stdin })) {
  const { url, bank, text, kept, stream } = JSON.parse(line);
  const everthread = createOpenAI({ baseURL: url, apiKey: "sk-client", headers: { "X-Everthread-Bank": bank } });
  messages.splice(kept, messages.length, { role: "user", content: text });
  const call = { model: everthread.responses("m"), messages };
  const result = stream ? streamText(call) : await generateText(call);
  const reply = await result.text;
  messages.push(...(await result.response).messages);
  console.log(JSON.stringify({ text: reply }));
}
