import { BodyReader } from './body-reader.ts';
import type { ResponseHead } from './response-head.ts';
import { MalformedResponse, parseResponseHead } from './response-head.ts';

/** What a response is handed to, in this order; `ended` at most once. */
export interface ResponseSink {
  readonly head: (head: ResponseHead) => void;
  readonly content: (bytes: Uint8Array) => void;
  readonly ended: () => void;
}

const maximumHead = 65_536;
/** Bytes looked at together: a body behind the head is not to be turned into text. */
const headSlice = 2048;

/** Reads one response from the bytes of a connection, however they are cut. */
export class ResponseReader {
  readonly #sink: ResponseSink;
  /** A byte a character: a sequence of UTF-8 may be cut. */
  readonly #decoder = new TextDecoder('latin1');
  #headText = '';
  #body: BodyReader | undefined;
  #hasEnded = false;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** Takes the next bytes. Throws MalformedResponse, also for bytes after the response's end: nobody asked for them. */
  push(bytes: Uint8Array): void {
    let rest = bytes;
    while (this.#body === undefined && rest.length > 0) rest = this.#readHead(rest);
    if (this.#body === undefined) return;
    if (this.#body.read(rest, this.#sink.content) < rest.length) {
      throw new MalformedResponse('bytes after the end of the answer');
    }
    if (this.#body.ended) this.#end();
  }

  /** The connection has ended: true when that was the response's end, too; false for a truncated one. */
  connectionEnded(): boolean {
    if (this.#body?.endsWithConnection === true) this.#end();
    return this.#hasEnded;
  }

  #end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#sink.ended();
  }

  /** Returns the bytes that are not of the head. */
  #readHead(bytes: Uint8Array): Uint8Array {
    const known = this.#headText.length;
    const slice = bytes.subarray(0, headSlice);
    this.#headText += this.#decoder.decode(slice);
    const end = this.#headText.indexOf('\r\n\r\n', Math.max(0, known - 3));
    if (end === -1) {
      if (this.#headText.length > maximumHead) throw new MalformedResponse('the head is too long');
      return bytes.subarray(slice.length);
    }
    const head = parseResponseHead(this.#headText.slice(0, end));
    this.#headText = '';
    // 100 Continue and 103 Early Hints announce another head
    if (head.status >= 200) {
      this.#body = new BodyReader(head.length);
      this.#sink.head(head);
    }
    return bytes.subarray(end + 4 - known);
  }
}
