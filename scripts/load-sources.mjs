// load-sources.mjs FOLDER...: loads every TypeScript source below the folders once and runs none, so that Node's compile cache
// has all of them without their types. Who finds one that is not there loads the compiler that removes types, which takes as long
// as Node's own start: in a suite each process does, for a file of tests is its own. The cache is one of V8's flags: run it
// with those of the processes to come.
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const imports = process.argv.slice(2).flatMap((folder) =>
  readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `import ${JSON.stringify(pathToFileURL(resolve(join(folder, path))).href)};`),
);
// A graph in which one import fails has been loaded whole when it does, and nothing of it runs.
const missing = "import { missing } from 'data:text/javascript,';";
const graph = encodeURIComponent([...imports, missing].join('\n'));
// A source that cannot be loaded is told by the test that needs it.
await import(`data:text/javascript,${graph}`).catch(() => undefined);
