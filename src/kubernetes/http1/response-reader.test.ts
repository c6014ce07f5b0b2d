import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { ResponseHead } from './response-head.ts';
import { MalformedResponse } from './response-head.ts';
import { ResponseReader } from './response-reader.ts';

interface Read {
  head?: ResponseHead;
  body: string;
  ends: number;
}

/** Pushes the pieces of a response one by one; then the connection ends when `closes`. */
function read(
  pieces: readonly Uint8Array[],
  closes = false,
): Read & { connectionEnded: boolean | undefined } {
  const result: Read = { body: '', ends: 0 };
  const reader = new ResponseReader({
    head: (head) => {
      result.head = head;
    },
    content: (bytes) => {
      result.body += Buffer.from(bytes).toString('latin1');
    },
    ended: () => {
      result.ends += 1;
    },
  });
  for (const piece of pieces) reader.push(piece);
  const connectionEnded = closes ? reader.connectionEnded() : undefined;
  return { ...result, connectionEnded };
}

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const chunked = (parts: readonly string[]): string =>
  `${parts.map((part) => `${part.length.toString(16)};ext=1\r\n${part}\r\n`).join('')}0\r\nTrailer: x\r\n\r\n`;

/** Cuts at the given places. */
function cut(whole: Uint8Array, places: readonly number[]): Uint8Array[] {
  const borders = [0, ...places.map((place) => place % (whole.length + 1)), whole.length];
  borders.sort((one, other) => one - other);
  return borders.slice(1).map((border, index) => whole.subarray(borders[index], border));
}

describe('response reader', () => {
  test('reads bodies of every length form, however the bytes are cut', () => {
    const content = fc.string({ unit: 'binary-ascii', maxLength: 3000 });
    fc.assert(
      fc.property(
        fc.constantFrom('length', 'chunked', 'close'),
        fc.array(content.filter((part) => part !== '')),
        fc.array(fc.nat()),
        fc.boolean(),
        (form, parts, places, announced) => {
          const body = parts.join('');
          const framing = {
            length: `Content-Length: ${body.length}\r\n\r\n${body}`,
            chunked: `Transfer-Encoding: chunked\r\n\r\n${chunked(parts)}`,
            close: `Connection: close\r\n\r\n${body}`,
          }[form];
          const early = announced ? 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' : '';
          const whole = bytes(`${early}HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${framing}`);

          const result = read(cut(whole, places), true);

          assert.equal(result.body, body);
          assert.equal(result.ends, 1);
          assert.equal(result.connectionEnded, true);
          assert.equal(result.head?.status, 200);
          assert.equal(result.head?.headers['content-type'], 'text/plain');
          assert.equal(result.head?.keepsAlive, form !== 'close');
        },
      ),
    );
  });

  test('a connection that ends inside a response is no end of it', () => {
    const whole = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunked(['one', 'two'])}`;
    for (let length = 0; length < whole.length; length += 1) {
      const result = read([bytes(whole.slice(0, length))], true);
      assert.deepEqual([result.ends, result.connectionEnded], [0, false], `after ${length} bytes`);
    }
  });

  test('has no body where the status has none', () => {
    for (const head of ['HTTP/1.1 204 No Content', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 7']) {
      assert.deepEqual(
        [read([bytes(`${head}\r\n\r\n`)]).ends, read([bytes(`${head}\r\n\r\n`)]).body],
        [1, ''],
      );
    }
  });

  test('joins a header that comes twice', () => {
    const { head } = read([
      bytes('HTTP/1.1 200 OK\r\nWarning: a\r\nwarning:  b \r\nContent-Length: 0\r\n\r\n'),
    ]);
    assert.equal(head?.headers['warning'], 'a, b');
  });

  for (const [what, text] of [
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: x\r\n\r\n'],
    ['a folded header', 'HTTP/1.1 200 OK\r\nA: x\r\n y\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['a length beside chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
    ['an unknown coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n'],
    ['a negative chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n'],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['a line that never ends', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1'.repeat(5000)}`],
    ['a head that never ends', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(20_000)}`],
    ['bytes after the end', 'HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n'],
  ] as const) {
    test(`refuses ${what}`, () => {
      assert.throws(() => read([bytes(text)]), MalformedResponse);
    });
  }

  test('never fails otherwise, whatever the bytes', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc
        .array(
          fc.constantFrom(
            'HTTP/1.1 200 OK',
            '\r\n',
            'Content-Length: 3',
            'Transfer-Encoding: chunked',
            '0',
            'x:',
          ),
        )
        .map((words) => bytes(words.join(''))),
    );
    fc.assert(
      fc.property(fc.array(noise), (pieces) => {
        try {
          read(pieces, true);
        } catch (error) {
          assert.ok(error instanceof MalformedResponse, String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
