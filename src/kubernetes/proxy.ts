type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that an environment names for a server, by the rules of Go's programs (golang.org/x/net/http/httpproxy):
 * HTTPS_PROXY, unless the server is this machine or NO_PROXY names it by domain, address, network, each with or without
 * a port, or `*`. Upper case wins. Undefined: none.
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

/** Why a proxy's URL cannot be used, without quoting it; undefined where it can. */
export function proxyProblem(proxy: string): string | undefined {
  if (!URL.canParse(proxy)) return 'is not a URL';
  const { protocol, hostname } = new URL(proxy);
  if (protocol !== 'http:' && protocol !== 'https:')
    return 'must be an http or https URL: other proxies are not supported';
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
  const { BlockList, isIP } = process.getBuiltinModule('node:net');
  const [address = '', bits = ''] = network.split('/');
  const family = isIP(address);
  if (family === 0 || isIP(host) !== family || !/^\d{1,3}$/u.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const name = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, Number(bits), name);
  return list.check(host, name);
}

const isAddress = (text: string): boolean => process.getBuiltinModule('node:net').isIP(text) !== 0;

const hostOf = (url: URL): string => url.hostname.toLowerCase().replace(/^\[(.*)\]$/u, '$1');
