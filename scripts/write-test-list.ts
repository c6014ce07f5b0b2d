import { readFile, writeFile } from 'node:fs/promises';
import { testList, withTestList } from '../test/cluster/list/test-list.ts';

const page = new URL('../docs/development/real-cluster.md', import.meta.url);
await writeFile(page, withTestList(await readFile(page, 'utf8'), await testList()));
