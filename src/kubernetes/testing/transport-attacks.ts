import assert from 'node:assert/strict';
import { bigLength, malformedAnswers } from './hostile-server.ts';
import type { ConformanceCase } from './transport-case.ts';
import { access, fails, openStreams, parseEcho, using } from './transport-case.ts';

/** Attacks by an API server, or by an impostor of one, on both transports. Independent of a test runner. */
export const transportAttacks: readonly ConformanceCase[] = [
  {
    name: 'refuses an answer that does not end, and closes the connection',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        await assert.rejects(transport.request({ method: 'GET', path: '/endless/flood' }), {
          code: 'KUBERNETES_UNREACHABLE',
          message: /more than 67108864 bytes as one answer/,
        });
        await openStreams(transport, 0);
      }),
  },
  ...Object.keys(malformedAnswers).map(
    (what) =>
      ({
        name: `refuses an answer with ${what}`,
        run: (make, servers) => fails(make(access(servers)), `/malformed/${encodeURIComponent(what)}`),
      }) satisfies ConformanceCase,
  ),
  {
    name: 'reads a head of 60,000 blanks at once',
    run: (make, servers) =>
      using(make(access(servers), { timeoutMs: 20_000 }), async (transport) => {
        const { headers } = await transport.request({ method: 'GET', path: '/blanks' });
        assert.equal(headers['x'], 'a');
      }),
  },
  {
    name: 'does not take bytes after an answer for the next one',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        assert.equal((await transport.request({ method: 'GET', path: '/more-than-asked' })).body, 'ok');
        parseEcho(await transport.request({ method: 'GET', path: '/echo' }));
      }),
  },
  {
    name: 'does not unpack an answer: a small one may become a large one',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const { body } = await transport.request({ method: 'GET', path: '/packed' });
        assert.ok(body.length < bigLength / 10, String(body.length));
        const { headers } = parseEcho(await transport.request({ method: 'GET', path: '/echo' }));
        assert.match(headers['accept-encoding'] ?? 'identity', /^identity$/u);
      }),
  },
  {
    name: 'a connection of one client certificate, or of one authority, serves no other',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const { certificate: _certificate, key: _key, ...anonymous } = access(servers);
        for (const other of [anonymous, { ...access(servers), ca: servers.otherCa }]) {
          parseEcho(await transport.request({ method: 'GET', path: '/echo' }));
          await fails(make(other), '/echo');
        }
      }),
  },
  {
    name: 'a proxy that the environment names gets nothing',
    run: async (make, servers) => {
      const previous = process.env['HTTPS_PROXY'];
      process.env['HTTPS_PROXY'] = servers.refusingProxy;
      try {
        await fails(make({ ...access(servers), server: servers.proxiedServer }), '/echo', 'dns');
      } finally {
        if (previous === undefined) delete process.env['HTTPS_PROXY'];
        else process.env['HTTPS_PROXY'] = previous;
      }
    },
  },
  {
    name: 'a token with a line break is refused, and not quoted',
    run: (make, servers) =>
      using(make({ ...access(servers), token: 't0ken\r\nimpersonate-user: admin' }), async (transport) => {
        await assert.rejects(transport.request({ method: 'GET', path: '/echo' }), {
          code: 'INVALID_CONFIG',
          message: /^the token cannot be sent: it has a line break or a character (?!.*t0ken)/u,
        });
      }),
  },
];
