import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import type { Credentials } from '../access/access.ts';
import { transportFailure } from '../client/transport.ts';
import { bigLength } from './hostile-server.ts';
import { type ConformanceCase, access, fails, openStreams, parseEcho, using } from './transport-case.ts';

/** Cases that both transports must pass. Independent of a test runner, so that they also run inside Bun. */
export const transportConformance: readonly ConformanceCase[] = [
  {
    name: 'sends method, prefix, path, query, body and content type, and reads the answer',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const response = await transport.request({
          method: 'PATCH',
          path: '/api/v1/pods',
          query: { fieldManager: 'a b' },
          body: '{"ä":1}',
          contentType: 'application/merge-patch+json',
        });

        const echo = parseEcho(response);
        assert.equal(response.status, 200);
        assert.equal(echo.method, 'PATCH');
        assert.equal(echo.url, '/prefix/api/v1/pods?fieldManager=a+b');
        assert.equal(echo.body, '{"ä":1}');
        assert.equal(echo.headers['content-type'], 'application/merge-patch+json');
        assert.equal(echo.headers['accept'], 'application/json');
      }),
  },
  {
    name: 'sends the bearer token',
    run: (make, servers) =>
      using(make({ ...access(servers), token: 't0ken' }), async (transport) => {
        const echo = parseEcho(await transport.request({ method: 'GET', path: '/echo' }));

        assert.equal(echo.headers['authorization'], 'Bearer t0ken');
      }),
  },
  {
    name: 'uses one connection for requests one after the other',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const sockets = new Set<number>();
        for (const method of ['GET', 'POST', 'GET', 'DELETE'] as const) {
          const body = method === 'POST' ? '{}' : undefined;
          sockets.add(parseEcho(await transport.request({ method, path: '/echo', body })).socket);
        }

        assert.equal(sockets.size, 1);
      }),
  },
  {
    name: 'carries big bodies in both directions',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const down = await transport.request({ method: 'GET', path: '/big' });
        const up = await transport.request({ method: 'POST', path: '/echo', body: 'y'.repeat(bigLength) });

        assert.equal(down.body.length, bigLength);
        assert.equal(parseEcho(up).body.length, bigLength);
      }),
  },
  {
    name: 'gives 429 with its Retry-After, and 5xx, as answers',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const busy = await transport.request({ method: 'POST', path: '/busy', body: '{}' });
        const down = await transport.request({ method: 'GET', path: '/down' });

        assert.deepEqual(
          [busy.status, busy.headers['retry-after'], busy.body],
          [429, '7', '{"kind":"Status"}'],
        );
        assert.deepEqual([down.status, down.body], [503, 'no upstream']);
      }),
  },
  {
    name: 'follows no redirect, which would carry the credentials away',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const response = await transport.request({ method: 'GET', path: '/redirect' });

        assert.equal(response.status, 302);
      }),
  },
  {
    name: 'refuses a server of another authority',
    run: (make, servers) => fails(make({ ...access(servers), ca: servers.otherCa }), '/echo', 'tls'),
  },
  {
    name: 'refuses a server of an authority that nobody named',
    run: (make, servers) => {
      const { ca: _, ...withoutCa } = access(servers);
      return fails(make(withoutCa), '/echo', 'tls');
    },
  },
  {
    name: 'refuses a server with another name',
    run: (make, servers) =>
      fails(make({ ...access(servers), server: servers.wrongNameServer }), '/echo', 'tls'),
  },
  {
    name: 'checks the name that tls-server-name gives',
    run: (make, servers) =>
      using(
        make({ ...access(servers), server: servers.wrongNameServer, tlsServerName: 'elsewhere.example' }),
        async (transport) => {
          const response = await transport.request({ method: 'GET', path: '/echo' });

          assert.equal(response.status, 200);
        },
      ),
  },
  {
    name: 'fails without the client certificate that the server asks for',
    run: (make, servers) => {
      const { certificate: _certificate, key: _key, ...anonymous } = access(servers);
      return fails(make(anonymous), '/echo');
    },
  },
  {
    name: 'speaks as the credentials of each request say',
    run: (make, servers) => {
      const { certificate, key, ...anonymous } = access(servers);
      let requestCount = 0;
      const current = (): Promise<Credentials> => {
        requestCount += 1;
        return Promise.resolve({ certificate, key, token: `t0ken-${requestCount}` });
      };
      return using(
        make({
          ...anonymous,
          credentials: { current, issued: async () => [await current()], refused: () => undefined },
        }),
        async (transport) => {
          // a transport that connects ahead has requested credentials before
          const before = requestCount;
          for (const next of [before + 1, before + 2]) {
            const echo = parseEcho(await transport.request({ method: 'GET', path: '/echo' }));
            assert.equal(echo.headers['authorization'], `Bearer t0ken-${next}`);
          }
        },
      );
    },
  },
  {
    name: 'reports a refused connection',
    run: (make, servers) =>
      fails(make({ ...access(servers), server: servers.refusedServer }), '/echo', 'refused'),
  },
  {
    name: 'reports a name that does not resolve',
    run: (make, servers) =>
      fails(make({ ...access(servers), server: 'https://nowhere.invalid:6443' }), '/echo', 'dns'),
  },
  {
    name: 'reports a connection that broke before the answer',
    run: (make, servers) => fails(make(access(servers)), '/reset', 'reset'),
  },
  {
    name: 'sends a POST or PATCH once whose kept connection breaks: it may have been done',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const seen = async () => parseEcho(await transport.request({ method: 'GET', path: '/echo' })).broken;
        for (const method of ['POST', 'PATCH'] as const) {
          const before = (await seen())[method] ?? 0;
          await assert.rejects(transport.request({ method, path: '/reset', body: '{}' }));
          assert.equal((await seen())[method], before + 1);
        }
      }),
  },
  {
    name: 'reports a truncated answer',
    run: (make, servers) => fails(make(access(servers)), '/truncated', 'reset'),
  },
  {
    name: 'gives up on a request that takes too long',
    run: (make, servers) => fails(make(access(servers), { timeoutMs: 100 }), '/slow', 'timeout'),
  },
  {
    name: 'gives up on a stream that does not begin',
    run: (make, servers) =>
      using(make(access(servers), { timeoutMs: 100 }), async (transport) => {
        await assert.rejects(
          transport.stream({ method: 'GET', path: '/slow' }),
          (error) => transportFailure(error) === 'timeout',
        );
      }),
  },
  {
    name: "rejects with the reason of the caller's signal",
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const reason = new Error('enough');
        const controller = new AbortController();
        const pending = transport.request({ method: 'GET', path: '/slow', signal: controller.signal });
        controller.abort(reason);

        await assert.rejects(pending, (error) => error === reason);
      }),
  },
  {
    name: 'streams a body that outlives the timeout, until the caller leaves',
    run: (make, servers) =>
      using(make(access(servers), { timeoutMs: 2000 }), async (transport) => {
        const stream = await transport.stream({ method: 'GET', path: '/endless/slow' });
        const messages: string[] = [];
        for await (const chunk of stream.chunks) {
          messages.push(Buffer.from(chunk).toString());
          if (messages.length === 2) break;
        }
        assert.deepEqual(messages, ['one\n', 'two\n']);

        await openStreams(transport, 0);
      }),
  },
  {
    name: 'lets nothing go on after it was closed',
    run: async (make, servers) => {
      const transport = make(access(servers));
      const pending = [0, 1].map(() => transport.request({ method: 'GET', path: '/slow' }));
      transport.close();

      const outcomes = await Promise.allSettled(pending);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'rejected'],
      );
    },
  },
  {
    name: 'ends a stream where the server ends it',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const stream = await transport.stream({ method: 'GET', path: '/lines' });

        assert.equal(await text(stream.chunks), 'one\ntwo\n');
      }),
  },
  {
    name: 'reports a stream that broke',
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const stream = await transport.stream({ method: 'GET', path: '/broken-lines' });

        await assert.rejects(text(stream.chunks), (error) => transportFailure(error) === 'reset');
      }),
  },
  {
    name: "ends a stream with the caller's signal",
    run: (make, servers) =>
      using(make(access(servers)), async (transport) => {
        const controller = new AbortController();
        const stream = await transport.stream({ method: 'GET', path: '/endless', signal: controller.signal });
        controller.abort(new Error('enough'));

        await assert.rejects(text(stream.chunks), { message: 'enough' });
        await openStreams(transport, 0);
      }),
  },
];
