import { isIPv6 } from 'node:net';
import type { OptionType, ParsedOption } from './option-type.ts';

const longest = 1024;
const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$/u;
/** A comma would end an option, and a source with a leading dash would be parsed as an option. */
const forbidden = /[\p{Cc}\p{Zl}\p{Zp},\\]/u;

/** Parts with `..`, also with trailing dots and spaces, which Windows strips from names. */
const upwards = /^\.[. ]+$/u;

/**
 * A share of an NFS server, parsed to `host/path`, the form that the old broker stored. `host:/path` and
 * `[IPv6]:/path` are valid, too.
 */
export const nfsShare: OptionType = {
  parse: (value) => {
    const fault = { fault: 'must be host:/path or host/path, with an IPv6 address in brackets' };
    if (typeof value !== 'string' || value.length > longest) return fault;
    const [, host, path] = /^(\[[^\]/]*\]|[^:/[\]]+):?(\/(?!\/).*)$/su.exec(value) ?? [];
    if (host === undefined || path === undefined || !isHost(host)) return fault;
    return checkedPath(path, `${host.toLowerCase()}${path}`);
  },
  schema: { type: 'string', minLength: 1, maxLength: longest },
};

/**
 * A share of an SMB server, parsed to `//host/share[/path]`. Backslashes are valid, too, and an IPv6 address
 * in brackets.
 */
export const smbShare: OptionType = {
  parse: (value) => {
    const fault = { fault: 'must be //host/share or //host/share/path' };
    if (typeof value !== 'string' || value.length > longest) return fault;
    const [, host, path] = /^\/\/([^/]+)(\/[^/].*)$/su.exec(value.replaceAll('\\', '/')) ?? [];
    if (host === undefined || path === undefined) return fault;
    // mount.cifs needs an IPv6 address without brackets
    const name = /^\[(.*)\]$/u.exec(host)?.[1] ?? host;
    if (!(isIPv6(name) || (name === host && hostName.test(host)))) return fault;
    return checkedPath(path, `//${name.toLowerCase()}${path}`);
  },
  schema: { type: 'string', minLength: 1, maxLength: longest },
};

/** Returns the server of a parsed share: a name, or an address without brackets. */
export function hostOfShare(share: string): string {
  const [, bracketed, plain = ''] = /^(?:\/\/)?(?:\[([^\]]*)\]|([^/]*))/u.exec(share) ?? [];
  return bracketed ?? plain;
}

const isHost = (host: string): boolean =>
  host.startsWith('[') ? isIPv6(host.slice(1, -1)) : hostName.test(host);

function checkedPath(path: string, share: string): ParsedOption {
  if (forbidden.test(path))
    return { fault: 'must have no comma, backslash or control character in its path' };
  if (path.split('/').some((part) => upwards.test(part)))
    return { fault: 'must have no part ".." in its path' };
  return { value: share };
}
