import { readFile, writeFile } from 'node:fs/promises';
import { testList, withTestList } from '../test/cluster/list/test-list.ts';

const readme = new URL('../README.md', import.meta.url);
await writeFile(readme, withTestList(await readFile(readme, 'utf8'), await testList()));
