import { text } from 'node:stream/consumers';
import { bunRuntime } from '../bun/bun-runtime.ts';
import { BunSocketTransport } from '../bun-socket-transport.ts';
import type { HostileServers } from './hostile-server.ts';
import type { MakeTransport } from './transport-case.ts';
import { transportConformance } from './transport-conformance.ts';

// Run by Bun with the servers as JSON on stdin; prints one JSON line per case.
const runtime = bunRuntime();
if (runtime === undefined) throw new Error('this is not Bun');
const servers = JSON.parse(await text(process.stdin)) as HostileServers;
const plain: MakeTransport = (access, options) => new BunSocketTransport(runtime, access, options);
const ahead: MakeTransport = (access, options) => {
  const transport = new BunSocketTransport(runtime, access, options);
  void transport.beginHandshake();
  return transport;
};
const cases = transportConformance.flatMap(({ name, run }) => [
  { name, run: () => run(plain, servers) },
  { name: `${name}; connected ahead`, run: () => run(ahead, servers) },
]);
for (const { name, run } of cases) {
  try {
    await run();
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
