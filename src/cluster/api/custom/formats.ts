import { isIPv4, isIPv6 } from 'node:net';

const date = /^\d{4}-\d\d-\d\d$/;
const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

const textFormats: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => date.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': (text) => dateTime.test(text) && !Number.isNaN(Date.parse(text)),
  byte: (text) => Buffer.from(text, 'base64').toString('base64') === text,
  ipv4: isIPv4,
  ipv6: isIPv6,
  uri: (text) => URL.canParse(text),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
  password: () => true,
};

const numberFormats: Readonly<Record<string, (value: number) => boolean>> = {
  int32: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 31,
  int64: Number.isInteger,
  float: Number.isFinite,
  double: Number.isFinite,
};

/** The formats that are checked here; a definition with another one is refused, not half believed. */
export const knownFormats = [...Object.keys(textFormats), ...Object.keys(numberFormats)];

/** Whether a scalar has that format; a format of the other type says nothing about it. */
export function hasFormat(format: string, value: string | number): boolean {
  if (typeof value === 'string') return textFormats[format]?.(value) ?? true;
  return numberFormats[format]?.(value) ?? true;
}
