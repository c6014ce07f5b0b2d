import { relative } from 'node:path';

// A reporter of node:test beside the one that people read: writes the test files that failed, a line each. A test may be
// defined in another file than the one that was run, so that is told by the summary of each file; one that died has none.
// node:test takes its reporters so
// oxlint-disable-next-line import/no-default-export
export default async function* failedFiles(source) {
  const files = new Set();
  for await (const { type, data } of source) {
    const { file = '' } = data ?? {};
    const isSummary = type === 'test:summary' && data.success === false;
    if ((isSummary || type === 'test:fail') && file.endsWith('.test.ts')) files.add(file);
  }
  for (const file of files) yield `${relative(process.cwd(), file)}\n`;
}
