import { isIPv6 } from 'node:net';
import type { OptionType, ParsedOption } from './option-type.ts';

const longest = 1024;
const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$/u;
/** A comma would end an option, and a leading dash of a source would begin one. */
const forbidden = /[\p{Cc}\p{Zl}\p{Zp},\\]/u;

/** Windows takes dots and blanks from the end of a name. */
const upwards = /^\.[. ]+$/u;

/**
 * A share of an NFS server as `host/path`, the form that the old broker stored. Takes `host:/path` and
 * `[IPv6]:/path`, too.
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
 * A share of an SMB server as `//host/share[/path]`. Takes backslashes, too, and an IPv6 address in
 * brackets.
 */
export const smbShare: OptionType = {
  parse: (value) => {
    const fault = { fault: 'must be //host/share or //host/share/path' };
    if (typeof value !== 'string' || value.length > longest) return fault;
    const [, host, path] = /^\/\/([^/]+)(\/[^/].*)$/su.exec(value.replaceAll('\\', '/')) ?? [];
    if (host === undefined || path === undefined) return fault;
    // mount.cifs resolves an address without brackets
    const name = /^\[(.*)\]$/u.exec(host)?.[1] ?? host;
    if (!(isIPv6(name) || (name === host && hostName.test(host)))) return fault;
    return checkedPath(path, `//${name.toLowerCase()}${path}`);
  },
  schema: { type: 'string', minLength: 1, maxLength: longest },
};

/** The server in a parsed share, as a name or an address without brackets. */
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
