import { relative } from 'node:path';

// A reporter of node:test beside the one that people read: writes one line of JSON with the counts of the
// whole run and the test files that failed (`files`). A test may be defined in another file than the one that
// was run, so the summary of each file tells whether it failed; a file that died has none. node:test requires
// a reporter to be the default export.
// oxlint-disable-next-line import/no-default-export
export default async function* testResults(source) {
  const files = new Set();
  let counts = {};
  for await (const { type, data } of source) {
    const { file = '' } = data ?? {};
    if (type === 'test:summary' && data.file === undefined) counts = data.counts;
    const isSummary = type === 'test:summary' && data.success === false;
    if ((isSummary || type === 'test:fail') && file.endsWith('.test.ts')) files.add(file);
  }
  yield `${JSON.stringify({ ...counts, files: [...files].map((file) => relative(process.cwd(), file)) })}\n`;
}
