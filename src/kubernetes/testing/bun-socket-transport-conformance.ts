import { text } from 'node:stream/consumers';
import { bunRuntime } from '../bun/bun-runtime.ts';
import { BunSocketTransport } from '../bun-socket-transport.ts';
import type { HostileServers } from './hostile-server.ts';
import { transportConformance } from './transport-conformance.ts';

// Run by Bun with the servers as JSON on stdin; prints one JSON line per case.
const runtime = bunRuntime();
if (runtime === undefined) throw new Error('this is not Bun');
const servers = JSON.parse(await text(process.stdin)) as HostileServers;
for (const { name, run } of transportConformance) {
  try {
    await run((access, options) => new BunSocketTransport(runtime, access, options), servers);
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(
      JSON.stringify({
        name,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
    );
  }
}
