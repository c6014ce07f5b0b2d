import type { BodyLength } from './response-head.ts';
import { MalformedResponse } from './response-head.ts';

const maximumLine = 4096;

/**
 * Finds the content of one body in the bytes of a connection; feed it with `read` until `ended`.
 * Chunked coding: RFC 9112, section 7.1; extensions and trailers are skipped.
 */
export class BodyReader {
  #part: 'content' | 'content-end' | 'size' | 'trailer' | 'end';
  /** Bytes of content until the next border; Infinity until the connection's end. */
  #left: number;
  #line = '';
  readonly #chunked: boolean;

  constructor(length: BodyLength) {
    this.#chunked = length.kind === 'chunked';
    switch (length.kind) {
      case 'none':
        this.#part = 'end';
        this.#left = 0;
        break;
      case 'length':
        this.#part = 'content';
        this.#left = length.bytes;
        break;
      case 'chunked':
        this.#part = 'size';
        this.#left = 0;
        break;
      case 'until-close':
        this.#part = 'content';
        this.#left = Infinity;
        break;
    }
  }

  get ended(): boolean {
    return this.#part === 'end';
  }

  /** The connection's end is this body's end. */
  get endsWithConnection(): boolean {
    return this.#left === Infinity;
  }

  /** Hands the content among `bytes` to `sink`; returns how many bytes belong to this body. Throws MalformedResponse. */
  read(bytes: Uint8Array, sink: (content: Uint8Array) => void): number {
    let position = 0;
    while (position < bytes.length && this.#part !== 'end') {
      if (this.#part === 'content') {
        const content = bytes.subarray(position, Math.min(bytes.length, position + this.#left));
        position += content.length;
        this.#left -= content.length;
        sink(content);
        if (this.#left === 0) this.#part = this.#chunked ? 'content-end' : 'end';
      } else {
        this.#lineByte(bytes[position] ?? 0);
        position += 1;
      }
    }
    return position;
  }

  #lineByte(byte: number): void {
    if (byte !== 10) {
      this.#line += String.fromCharCode(byte);
      if (this.#line.length > maximumLine) throw new MalformedResponse('a line of the body is too long');
      return;
    }
    if (!this.#line.endsWith('\r')) throw new MalformedResponse('a line of the body ends without CR');
    const line = this.#line.slice(0, -1);
    this.#line = '';
    this.#endOfLine(line);
  }

  #endOfLine(line: string): void {
    if (this.#part === 'content-end') {
      if (line !== '') throw new MalformedResponse('a chunk is longer than its size');
      this.#part = 'size';
    } else if (this.#part === 'size') {
      const match = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/u.exec(line);
      if (match === null) throw new MalformedResponse('a chunk has no size');
      this.#left = Number.parseInt(match[1] ?? '', 16);
      this.#part = this.#left === 0 ? 'trailer' : 'content';
    } else if (line === '') {
      this.#part = 'end';
    }
  }
}
