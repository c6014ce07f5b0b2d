import { relative } from 'node:path';

// A second reporter of node:test: writes the test files that failed, one per line. A test may be defined in another file than
// the one that was run, so the summary of each file decides; a file whose process died has no summary.
// node:test requires a default export.
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
