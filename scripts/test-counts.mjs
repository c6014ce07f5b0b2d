// A second reporter of node:test: writes the counts of the whole run as one line of JSON.
// node:test requires a default export.
// oxlint-disable-next-line import/no-default-export
export default async function* testCounts(source) {
  for await (const { type, data } of source) {
    if (type === 'test:summary' && data.file === undefined) yield `${JSON.stringify(data.counts)}\n`;
  }
}
