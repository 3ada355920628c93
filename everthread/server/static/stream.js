// Server-sent events out of the answer to any request, POST too, which EventSource can't do.

/** The events of an answer, as they arrive: [name, data]. */
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parsed(block);
      if (event) yield event;
    }
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const row of block.split(/\r?\n/)) {
    if (row.startsWith("event:")) name = row.slice(6).trim();
    else if (row.startsWith("data:")) data.push(row.slice(5).replace(/^ /, ""));
  }
  return data.length ? [name, JSON.parse(data.join("\n"))] : null;
}
