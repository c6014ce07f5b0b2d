import { badRequest, unsupportedMediaType } from '../errors/status-errors.ts';
import { measure, type JsonRecord } from '../schema/json.ts';
import { maximumValues, tooManyValues } from '../schema/parse-json.ts';
import { messages, type WireMessage, type WireType } from './protobuf-messages.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

const magic = Buffer.from('k8s\0');
/** runtime.Unknown, the envelope of every object. */
const envelope = { typeMeta: 1, raw: 2 } as const;

/**
 * Decodes the few objects that kubectl sends as protobuf; returns the equivalent JSON. Throws ApiError 415
 * for any other kind or field (JSON is accepted for all), 413 for more values than JSON may have, 400 if the
 * body is not protobuf.
 */
export function decodeProtobuf(body: Buffer): JsonRecord {
  if (!body.subarray(0, magic.length).equals(magic)) throw malformed();
  const fields = [...readFields(body.subarray(magic.length))];
  const bytesOf = (number: number): Buffer =>
    fields.find((field) => field.number === number)?.bytes ?? Buffer.alloc(0);
  const type = decodeMessage(
    { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] },
    bytesOf(envelope.typeMeta),
  );
  const kind = String(type['kind']);
  const message = Object.hasOwn(messages, kind) ? messages[kind] : undefined;
  if (message === undefined) throw unsupportedMediaType(['application/json']);
  const object = { ...type, ...decodeMessage(message, bytesOf(envelope.raw)) };
  if (measure(object).size > maximumValues) throw tooManyValues(maximumValues);
  return object;
}

function decodeMessage(message: WireMessage, bytes: Buffer): JsonRecord {
  const decoded: JsonRecord = {};
  for (const field of readFields(bytes)) {
    const known = message[field.number];
    if (known === undefined) throw unsupportedMediaType(['application/json']);
    const [name, type] = known;
    addField(decoded, name, type, field);
  }
  return decoded;
}

function addField(decoded: JsonRecord, name: string, type: WireType, field: WireField): void {
  if (type === 'skipped') return;
  if (type === 'integer') decoded[name] = Number(field.integer);
  else if (type === 'bool') decoded[name] = field.integer !== 0n;
  else if (type === 'integerOrText') decoded[name] = integerOrText(field.bytes);
  else if (typeof type === 'string') addText(decoded, name, scalar(type, field.bytes));
  else if ('message' in type) decoded[name] = decodeMessage(type.message, field.bytes);
  else if ('messages' in type) append(decoded, name, decodeMessage(type.messages, field.bytes));
  else if ('list' in type) append(decoded, name, text(field.bytes));
  else addEntries(decoded, name, mapEntry(type.map, field.bytes));
}

function append(decoded: JsonRecord, name: string, item: unknown): void {
  const list = (decoded[name] ??= []) as unknown[];
  list.push(item);
}

/** Adds in place, because a copy for each entry would be quadratic. */
function addEntries(decoded: JsonRecord, name: string, entries: JsonRecord): void {
  const map = (decoded[name] ??= {}) as JsonRecord;
  for (const [key, value] of Object.entries(entries))
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
}

function integerOrText(bytes: Buffer): string | number {
  const {
    type = 0,
    number = 0,
    string = '',
  } = decodeMessage({ 1: ['type', 'integer'], 2: ['number', 'integer'], 3: ['string', 'string'] }, bytes);
  return type === 0 ? Number(number) : String(string);
}

/** Go sends the empty string for an absent one. */
function addText(decoded: JsonRecord, name: string, value: string): void {
  if (value !== '') decoded[name] = value;
}

const text = (bytes: Buffer): string => bytes.toString('utf8');

function scalar(type: 'string' | 'base64' | 'quantity', bytes: Buffer): string {
  switch (type) {
    case 'string':
      return text(bytes);
    case 'base64':
      return bytes.toString('base64');
    case 'quantity':
      return text([...readFields(bytes)].find(({ number }) => number === 1)?.bytes ?? Buffer.alloc(0));
  }
}

function mapEntry(type: 'string' | 'base64' | 'quantity', bytes: Buffer): JsonRecord {
  const fields = [...readFields(bytes)];
  const bytesOf = (number: number): Buffer =>
    fields.find((field) => field.number === number)?.bytes ?? Buffer.alloc(0);
  return Object.fromEntries([[text(bytesOf(1)), scalar(type, bytesOf(2))]]);
}

interface WireField {
  readonly number: number;
  /** The value of a varint; 0 for other types. */
  readonly integer: bigint;
  /** The content of a length-delimited field; empty for other types. */
  readonly bytes: Buffer;
}

/** Yields the fields of a message in their order (protobuf.dev/programming-guides/encoding). */
function* readFields(bytes: Buffer): Generator<WireField> {
  let position = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[position];
      if (byte === undefined) throw malformed();
      position += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw malformed();
  };
  while (position < bytes.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    if (tag % 8 === 0) {
      yield { number, integer: varint(), bytes: Buffer.alloc(0) };
    } else if (tag % 8 === 2) {
      const length = Number(varint());
      if (length < 0 || position + length > bytes.length) throw malformed();
      yield { number, integer: 0n, bytes: bytes.subarray(position, position + length) };
      position += length;
    } else {
      throw malformed();
    }
  }
}

function malformed(): Error {
  return badRequest('the object provided is unrecognized (must be of type JSON or Kubernetes protobuf)');
}
