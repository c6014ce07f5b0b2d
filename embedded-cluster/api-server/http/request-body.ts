import type { IncomingMessage } from 'node:http';
import { badRequest, requestEntityTooLarge, unsupportedMediaType } from '../errors/status-errors.ts';
import { parseJson, type ParsedJson } from '../schema/parse-json.ts';
import { mediaTypes } from './response-format.ts';
import { decodeProtobuf, protobufType } from './protobuf.ts';

const maximumBody = 3 * 1024 * 1024;

/**
 * Reads the object in the body, which is JSON or, from a few commands of kubectl, protobuf. Returns undefined
 * if there is no body. Throws ApiError 400 if the body cannot be parsed, 413 above 3 MiB, 415 for another
 * content type.
 */
export async function readObject(request: IncomingMessage): Promise<unknown> {
  return (await readBody(request))?.value;
}

/** Like `readObject`, and also returns the duplicate members of the text. */
export async function readBody(request: IncomingMessage): Promise<ParsedJson | undefined> {
  const bytes = await readBytes(request);
  if (bytes.length === 0) return undefined;
  const type = mediaTypes(request.headers['content-type'] ?? 'application/json')[0]?.type;
  if (type === protobufType) return { value: decodeProtobuf(bytes), duplicates: [] };
  if (type !== 'application/json') throw unsupportedMediaType(['application/json']);
  return parseBytes(bytes);
}

/**
 * Reads the JSON in the body and ignores its content type (patches have types of their own). Throws ApiError
 * 400 and 413.
 */
export async function readPatch(request: IncomingMessage): Promise<ParsedJson> {
  return parseBytes(await readBytes(request));
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The connection stays open, so that the client of an oversized body receives the 413.
  const incoming = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of incoming) {
    length += chunk.length;
    if (length > maximumBody)
      throw requestEntityTooLarge(`Request entity too large: limit is ${maximumBody}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseBytes(bytes: Buffer): ParsedJson {
  try {
    return parseJson(bytes.toString());
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's own message quotes the text, which may contain a secret.
    throw badRequest('the object provided is unrecognized (must be of type JSON)');
  }
}

const maximumDiscarded = 3 * 1024 * 1024;

/**
 * Discards the rest of a body that is not processed, so that a client that is still sending receives the
 * response. Resolves at the end of the body, when the client disconnects, or after the maximum size of a
 * body.
 */
export function drainRequest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let discarded = 0;
    request.on('end', resolve).on('close', resolve);
    request.on('data', ({ length }: Buffer) => {
      discarded += length;
      if (discarded > maximumDiscarded) resolve();
    });
    request.resume();
  });
}
