import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { environmentProxy, proxyProblem } from './proxy.ts';

const proxy = 'http://proxy.example:3128';
const chosen = (server: string, noProxy: string): boolean =>
  environmentProxy(server, { HTTPS_PROXY: proxy, NO_PROXY: noProxy }) === proxy;

test('the environment names the proxy; upper case wins, a missing scheme is http', () => {
  const server = 'https://k8s.example:6443';
  assert.equal(environmentProxy(server, {}), undefined);
  assert.equal(environmentProxy(server, { HTTP_PROXY: proxy }), undefined);
  assert.equal(environmentProxy(server, { https_proxy: proxy }), proxy);
  assert.equal(environmentProxy(server, { HTTPS_PROXY: '', https_proxy: proxy }), proxy);
  assert.equal(environmentProxy(server, { HTTPS_PROXY: 'upper:1', https_proxy: proxy }), 'http://upper:1');
});

test('this machine is never reached through a proxy', () => {
  for (const host of ['localhost:6443', '127.64.0.1:6443', '[::1]:6443']) {
    assert.equal(chosen(`https://${host}`, ''), false, host);
  }
});

test('NO_PROXY exempts by domain, address, network and port', () => {
  const cases: [string, string, boolean][] = [
    ['https://k8s.example:6443', 'other.example', true],
    ['https://k8s.example:6443', 'example', false],
    ['https://k8s.example:6443', ' a.b , .example', false],
    ['https://k8s.example:6443', '*.example', false],
    ['https://example:6443', '.example', true],
    ['https://myexample', 'example', true],
    ['https://k8s.example:6443', 'k8s.example:6443', false],
    ['https://k8s.example:6443', 'k8s.example:443', true],
    ['https://k8s.example', 'k8s.example:443', false],
    ['https://k8s.example', '*', false],
    ['https://10.0.0.7:6443', '10.0.0.7', false],
    ['https://10.0.0.7:6443', '10.0.0.0/8', false],
    ['https://10.0.0.7:6443', '11.0.0.0/8', true],
    ['https://10.0.0.7:6443', '10.0.0.0/99', true],
    ['https://10.0.0.7:6443', '10.0.0.7/32', false],
    ['https://10.0.0.7:6443', '10.0.0.6/32', true],
    ['https://200.0.0.7:6443', '0.0.0.0/0', false],
    ['https://10.0.0.7:6443', '10.0.0.07', true],
    ['https://10.0.0.7:6443', '10.0.0/8', true],
    ['https://10.0.0.7:6443', 'fd00::/8', true],
    ['https://[fd00::7]:6443', '10.0.0.0/8', true],
    ['https://[fd00::7]:6443', 'fd00::/129', true],
    ['https://[fd00::7]:6443', 'fd00::/8', false],
    ['https://[fd00::7]:6443', 'fd00::7', false],
    ['https://[fd00::7]:6443', '[fd00::7]:6443', false],
    ['https://k8s.example', '10.0.0.0/8,,', true],
  ];
  for (const [server, noProxy, expected] of cases) {
    assert.equal(chosen(server, noProxy), expected, `${server} with NO_PROXY ${noProxy}`);
  }
});

test('names and IPv4 networks are compared without node:net, which costs a call some milliseconds', () => {
  const program = `
    import { environmentProxy } from '${new URL('proxy.ts', import.meta.url).href}';
    const environment = { HTTPS_PROXY: 'http://proxy', NO_PROXY: 'a.b:443,10.0.0.7,192.168.0.0/16,10.96.0.0/12,.svc' };
    console.log(environmentProxy('https://10.96.0.1', environment), process.moduleLoadList.includes('NativeModule net'));`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program];
  assert.equal(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout, 'undefined false\n');
});

test('a proxy that cannot be spoken to is refused, unquoted', () => {
  assert.equal(proxyProblem('https://user:password@proxy:3128'), undefined);
  for (const [url, problem] of [
    ['socks5://proxy:1080', /http or https/u],
    ['proxy', /not a URL/u],
  ] as const) {
    assert.match(proxyProblem(url) ?? '', problem);
  }
});
