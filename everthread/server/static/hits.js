// A hit is a line or a unit. The page lists both alike: a unit at the last line that it was written of.

/** The hit with a line, of a unit too. */
function withLine(hit) {
  if (hit.line) return hit;
  const { kind, text, session, said_at, last_seq, metadata } = hit.unit;
  return { ...hit, line: { seq: last_seq, session, role: "system", speaker: kind, text, said_at, metadata } };
}

/** The hits, each with a line. */
export const withLines = (hits) => hits.map(withLine);

/** The context with such hits. */
export const contextWithLines = (context) => ({ ...context, hits: withLines(context.hits) });
