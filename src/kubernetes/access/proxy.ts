import { isBun } from './access.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the proxy that the environment names for a server, by the rules of Go programs
 * (golang.org/x/net/http/httpproxy): HTTPS_PROXY, unless the server is this machine, or NO_PROXY lists it by
 * domain, address or network (each with or without a port) or is `*`. Upper-case variables win. Undefined if
 * there is none.
 */
export function environmentProxy(server: string, environment: Environment): string | undefined {
  const read = (name: string): string => {
    const upper = environment[name] ?? '';
    return upper === '' ? (environment[name.toLowerCase()] ?? '') : upper;
  };
  const proxy = read('HTTPS_PROXY');
  if (proxy === '') return undefined;
  const url = new URL(server);
  if (isLoopback(url) || isExempt(url, read('NO_PROXY'))) return undefined;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

/** Returns why a proxy's URL cannot be used, without quoting it; undefined if it can be used. */
export function proxyProblem(proxy: string): string | undefined {
  if (!URL.canParse(proxy)) return 'is not a URL';
  const { protocol, hostname } = new URL(proxy);
  if (protocol !== 'http:' && protocol !== 'https:')
    return 'must be an http or https URL: other proxies are not supported';
  // Bun's fetch sends the API's client certificate to an https proxy, and verifies the proxy with the API's
  // certificate authority
  if (protocol === 'https:' && isBun())
    return 'is an https URL, which the executable does not support: use an http proxy, or run the CPI with Node (node_path)';
  return hostname === '' ? 'names no host' : undefined;
}

function isLoopback(url: URL): boolean {
  const host = hostOf(url);
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/u.test(host);
}

function isExempt(url: URL, noProxy: string): boolean {
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .some((entry) => matches(url, entry));
}

function matches(url: URL, entry: string): boolean {
  const host = hostOf(url);
  if (entry === '*') return true;
  if (entry.includes('/')) return isInNetwork(host, entry);
  const [, name = entry, port] = /^\[?([^[\]]*?)\]?:(\d+)$/u.exec(isAddress(entry) ? '' : entry) ?? [];
  if (port !== undefined && port !== (url.port === '' ? '443' : url.port)) return false;
  const domain = name.replace(/^\*?\./u, '');
  return host === name || host.endsWith(`.${domain}`) || (domain === name && host === domain);
}

function isInNetwork(host: string, network: string): boolean {
  const [address = '', bits = ''] = network.split('/');
  if (!/^\d{1,3}$/u.test(bits)) return false;
  const [one, other] = [ipv4(address), ipv4(host)];
  if (one === undefined || other === undefined) return isInIpv6Network(host, address, Number(bits));
  const size = 2 ** (32 - Number(bits));
  return Number(bits) <= 32 && Math.floor(one / size) === Math.floor(other / size);
}

/** Loads node:net only for IPv6: loading it costs a CPI call some milliseconds. */
function isInIpv6Network(host: string, address: string, bits: number): boolean {
  if (!isIpv6(address) || !isIpv6(host) || bits > 128) return false;
  const { BlockList } = process.getBuiltinModule('node:net');
  const list = new BlockList();
  list.addSubnet(address, bits, 'ipv6');
  return list.check(host, 'ipv6');
}

const isAddress = (text: string): boolean => ipv4(text) !== undefined || isIpv6(text);

/** A host with a port never has two colons. */
const isIpv6 = (text: string): boolean =>
  /^[^[]*:.*:/u.test(text) && process.getBuiltinModule('node:net').isIPv6(text);

/** Returns the address as a number; undefined unless the text is four decimals without leading zeros. */
function ipv4(text: string): number | undefined {
  const parts = text.split('.');
  const isProxySet =
    parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/u.test(part) && Number(part) < 256);
  return isProxySet ? parts.reduce((sum, part) => sum * 256 + Number(part), 0) : undefined;
}

const hostOf = (url: URL): string => url.hostname.toLowerCase().replace(/^\[(.*)\]$/u, '$1');
