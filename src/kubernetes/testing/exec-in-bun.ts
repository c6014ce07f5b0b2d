import { text } from 'node:stream/consumers';
import type { Access } from '../access/access.ts';
import { execConformance } from './exec-conformance.ts';

// Run by Bun with both accesses as JSON on stdin; prints one JSON line per case.
const { access, proxied } = JSON.parse(await text(process.stdin)) as { access: Access; proxied: Access };
for (const { name, run } of execConformance) {
  try {
    await run(access, proxied);
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: error instanceof Error ? error.stack : String(error) }));
  }
}
