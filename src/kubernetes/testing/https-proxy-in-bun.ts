import { text } from 'node:stream/consumers';
import { openTransport } from '../client/open-transport.ts';
import { serverAccess, type ServerAccess } from '../access/server-access.ts';

// Run by Bun with the parts of an access and the proxy as JSON on stdin; prints the outcome of a request as a
// JSON line.
const { parts, proxy } = JSON.parse(await text(process.stdin)) as { parts: ServerAccess; proxy: string };
try {
  const access = { ...serverAccess(parts, { HTTPS_PROXY: proxy }), namespace: 'default' };
  const transport = await openTransport(access);
  await transport.request({ method: 'GET', path: '/' });
  transport.close();
  console.log(JSON.stringify({ name: 'the request was sent' }));
} catch (error) {
  console.log(JSON.stringify({ name: 'refused', error: error instanceof Error ? error.message : '' }));
}
