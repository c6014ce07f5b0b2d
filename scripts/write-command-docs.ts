import { writeFile } from 'node:fs/promises';
import { commands } from '../src/cli/commands.ts';
import { commandDocs } from './command-docs.ts';

await writeFile(new URL('../docs/commands.md', import.meta.url), commandDocs(commands));
