import { text } from 'node:stream/consumers';
import { FetchTransport } from '../client/fetch-transport.ts';
import type { HostileServers } from './hostile-server.ts';
import { proxyConformance } from './proxy-conformance.ts';
import { transportAttacks } from './transport-attacks.ts';
import { transportConformance } from './transport-conformance.ts';

// Run by Bun with the servers as JSON on stdin; prints one JSON line per case.
const servers = JSON.parse(await text(process.stdin)) as HostileServers;
for (const { name, run } of [...transportConformance, ...proxyConformance, ...transportAttacks]) {
  try {
    await run((access, options) => new FetchTransport(access, options), servers);
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
