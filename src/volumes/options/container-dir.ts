import type { OptionType } from './option-type.ts';

const longest = 1024;
/** Top-level directories that a container needs for itself. */
const ofTheKernel = ['proc', 'sys', 'dev'];

/** The directory into which Cloud Foundry unpacks the app's droplet. */
const ofTheApp = '/home/vcap/app';

/** A directory in the app's container: an absolute path without `.`, `..` and empty parts. */
export const containerDir: OptionType = {
  parse: (value) => {
    const fault = {
      fault: `must be an absolute path of a folder in the container, without "..", ":", comma and control characters, not /, not ${ofTheApp}, which has the app itself, nor a folder above it, and not in /${ofTheKernel.join(', /')}`,
    };
    if (typeof value !== 'string' || value.length > longest) return fault;
    if (!value.startsWith('/') || /[\p{Cc}\p{Zl}\p{Zp},:\\]/u.test(value)) return fault;
    const parts = value.split('/').filter((part) => part !== '' && part !== '.');
    const [first] = parts;
    if (first === undefined || parts.includes('..') || ofTheKernel.includes(first)) return fault;
    if (parts.some((part) => Buffer.byteLength(part) > 255)) return fault;
    const path = `/${parts.join('/')}`;
    return `${ofTheApp}/`.startsWith(`${path}/`) ? fault : { value: path };
  },
  schema: { type: 'string', minLength: 2, maxLength: longest },
};
