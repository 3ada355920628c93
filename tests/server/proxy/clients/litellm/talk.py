"""Answers requests with litellm: one JSON object a line, {"url", "bank", "messages", "stream"}, each with {"text"}."""

import json
import sys

import litellm

for line in sys.stdin:
    request = json.loads(line)
    answer = litellm.completion(
        model="openai/m",
        api_base=request["url"],
        api_key="sk-client",
        extra_headers={"X-Everthread-Bank": request["bank"]},
        messages=request["messages"],
        stream=request["stream"],
    )
    if request["stream"]:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    else:
        text = answer.choices[0].message.content
    print(json.dumps({"text": text}), flush=True)
