import { isIPv6 } from 'node:net';
import type { OptionType, ParsedOption } from './option-types.ts';

const maxShareLength = 1024;
const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$/u;
/** A comma would end an option, and a source with a leading dash would be parsed as an option. */
const forbiddenCharacters = /[\p{Cc}\p{Zl}\p{Zp},\\]/u;

/** Parts with `..`, also with trailing dots and spaces, which Windows strips from names. */
const dotSegment = /^\.[. ]+$/u;

/**
 * A share of an NFS server, parsed to `host/path`, the form that the old broker stored. `host:/path` and
 * `[IPv6]:/path` are valid, too.
 */
export const nfsShare: OptionType = {
  parse: (value) => {
    const problem = { problem: 'must be host:/path or host/path, with an IPv6 address in brackets' };
    if (typeof value !== 'string' || value.length > maxShareLength) return problem;
    const [, host, path] = /^(\[[^\]/]*\]|[^:/[\]]+):?(\/(?!\/).*)$/su.exec(value) ?? [];
    if (host === undefined || path === undefined || !isHost(host)) return problem;
    return parsePath(path, `${host.toLowerCase()}${path}`);
  },
  schema: { type: 'string', minLength: 1, maxLength: maxShareLength },
};

/**
 * A share of an SMB server, parsed to `//host/share[/path]`. Backslashes are valid, too, and an IPv6 address
 * in brackets.
 */
export const smbShare: OptionType = {
  parse: (value) => {
    const problem = { problem: 'must be //host/share or //host/share/path' };
    if (typeof value !== 'string' || value.length > maxShareLength) return problem;
    const [, host, path] = /^\/\/([^/]+)(\/[^/].*)$/su.exec(value.replaceAll('\\', '/')) ?? [];
    if (host === undefined || path === undefined) return problem;
    // mount.cifs needs an IPv6 address without brackets
    const name = /^\[(.*)\]$/u.exec(host)?.[1] ?? host;
    if (!(isIPv6(name) || (name === host && hostName.test(host)))) return problem;
    return parsePath(path, `//${name.toLowerCase()}${path}`);
  },
  schema: { type: 'string', minLength: 1, maxLength: maxShareLength },
};

/** Returns the server of a parsed share: a name, or an address without brackets. */
export function shareHost(share: string): string {
  const [, bracketed, plain = ''] = /^(?:\/\/)?(?:\[([^\]]*)\]|([^/]*))/u.exec(share) ?? [];
  return bracketed ?? plain;
}

const isHost = (host: string): boolean =>
  host.startsWith('[') ? isIPv6(host.slice(1, -1)) : hostName.test(host);

function parsePath(path: string, share: string): ParsedOption {
  if (forbiddenCharacters.test(path))
    return { problem: 'must have no comma, backslash or control character in its path' };
  if (path.split('/').some((part) => dotSegment.test(part)))
    return { problem: 'must not have ".." in its path' };
  return { value: share };
}

const maxLength = 1024;
/** Top-level directories that a container needs for itself. */
const kernelDirectories = ['proc', 'sys', 'dev'];

/** The directory into which Cloud Foundry unpacks the app's droplet. */
const appDirectory = '/home/vcap/app';

/** A directory in the app's container: an absolute path without `.`, `..` and empty parts. */
export const containerDir: OptionType = {
  parse: (value) => {
    const problem = {
      problem: `must be an absolute path of a folder in the container, without "..", ":", commas and control characters. It must not be /, ${appDirectory} (the app itself) or a folder above it, or be in /${kernelDirectories.join(', /')}`,
    };
    if (typeof value !== 'string' || value.length > maxLength) return problem;
    if (!value.startsWith('/') || /[\p{Cc}\p{Zl}\p{Zp},:\\]/u.test(value)) return problem;
    const parts = value.split('/').filter((part) => part !== '' && part !== '.');
    const [first] = parts;
    if (first === undefined || parts.includes('..') || kernelDirectories.includes(first)) return problem;
    if (parts.some((part) => Buffer.byteLength(part) > 255)) return problem;
    const path = `/${parts.join('/')}`;
    return `${appDirectory}/`.startsWith(`${path}/`) ? problem : { value: path };
  },
  schema: { type: 'string', minLength: 2, maxLength },
};
