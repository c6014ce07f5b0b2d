import { text } from 'node:stream/consumers';
import type { Access } from '../access.ts';
import { execConformance } from './exec-conformance.ts';

// Run by Bun with the access as JSON on stdin; prints one JSON line per case.
const access = JSON.parse(await text(process.stdin)) as Access;
for (const { name, run } of execConformance) {
  try {
    await run(access);
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: error instanceof Error ? error.stack : String(error) }));
  }
}
