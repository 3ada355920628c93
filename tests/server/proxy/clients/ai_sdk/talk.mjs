// Answers requests with the AI SDK: one JSON object a line, {"url", "bank", "messages", "stream"}, each with {"text"}.

import { createInterface } from "node:readline";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

for await (const line of createInterface({ input: process.stdin })) {
  const { url, bank, messages, stream } = JSON.parse(line);
  const everthread = createOpenAICompatible({
    name: "everthread",
    baseURL: url,
    apiKey: "sk-client",
    headers: { "X-Everthread-Bank": bank },
  });
  const call = { model: everthread("m"), messages, allowSystemInMessages: true };
  const text = stream ? await streamText(call).text : (await generateText(call)).text;
  console.log(JSON.stringify({ text }));
}
