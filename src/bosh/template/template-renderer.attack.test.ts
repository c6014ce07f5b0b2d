import assert from 'node:assert/strict';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { createTemplateRenderer, findRuby } from './create-template-renderer.ts';
import type { TemplateContext } from './template-renderer.ts';

const secret = 'the-operators-own-secret';

const context: TemplateContext = {
  index: 0,
  id: 'id-1',
  az: 'unknown',
  bootstrap: true,
  job: { name: 'web' },
  deployment: 'dep',
  networks: {},
  global_properties: {},
  cluster_properties: {},
  job_properties: null,
  default_properties: {},
};

/** What a template tries, as Ruby and as JavaScript for `JS.eval`; the value of either is what it found out. */
interface Attempt {
  readonly ruby: string;
  readonly javascript?: string;
}

/** In `home`, below the home directory of the user who runs the test. */
interface Target {
  readonly home: string;
  readonly port: number;
}

/** Each attempt of its own renderer: one that ends the process must not spare the others. */
function suite(rubyPath: string | undefined): void {
  let target: Target;
  let server: Server;
  let connections = 0;
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
  };

  before(async () => {
    const home = await mkdtemp(join(homedir(), '.attacked-by-a-template-'));
    await writeFile(join(home, 'key'), secret, { mode: 0o600 });
    process.env['OPERATORS_SECRET'] = secret;
    process.on('SIGWINCH', onSignal);
    server = createServer((socket) => {
      connections += 1;
      socket.end(secret);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    target = { home, port: (server.address() as AddressInfo).port };
  });

  after(async () => {
    server.close();
    process.off('SIGWINCH', onSignal);
    delete process.env['OPERATORS_SECRET'];
    await rm(target.home, { recursive: true });
  });

  /** What the template found out; a process that ends over it found out nothing. */
  async function attack(code: string): Promise<string> {
    const renderer = createTemplateRenderer({ rubyPath, patience: 20_000 });
    try {
      const template = `<%= begin; ${code}; rescue Exception => error; "refused: #{error.class}"; end %>`;
      const [text = ''] = await renderer.render([{ name: 'web/templates/x.erb', template, context }]);
      return text;
    } catch (error) {
      if (!isProductError(error, 'RUBY_FAILED')) throw error;
      assert.match(error.message, /web\/templates\/x\.erb/);
      return `refused: ${error.message}`;
    } finally {
      assert.equal(renderer.engine, rubyPath === undefined ? 'ruby.wasm' : 'ruby');
      await renderer.close();
    }
  }

  async function attackAll({ ruby, javascript }: Attempt): Promise<void> {
    const found = [await attack(ruby)];
    if (javascript !== undefined) {
      const code = JSON.stringify(javascript);
      found.push(await attack(`require "js"; JS.eval(${code}).to_s`));
    }
    assert.doesNotMatch(found.join('\n'), new RegExp(secret));
  }

  test('what renders says what it computed: the attempts below are run', async () => {
    assert.equal(await attack('"#{1 + 1}"'), '2');
  });

  test('a template reads a file of the home directory', async () => {
    const path = JSON.stringify(join(target.home, 'key'));
    await attackAll({
      ruby: `File.read(${path})`,
      javascript: `return process.getBuiltinModule('fs').readFileSync(${path}, 'utf8')`,
    });
  });

  test('a template reads secrets of the environment', async () => {
    await attackAll({
      ruby: '[ENV.to_h.inspect, *Dir["/proc/*/environ"].map { |path| File.read(path) rescue "" }].join',
      javascript: 'return JSON.stringify(process.env)',
    });
  });

  test('a template reaches a listener of the machine', async () => {
    await attackAll({
      ruby: `require "socket"; TCPSocket.new("127.0.0.1", ${target.port}).read`,
      // nothing asynchronous gets its turn while ruby runs
      javascript: `return process.getBuiltinModule('child_process').execFileSync(process.execPath, ['-e',
        "require('net').connect(${target.port}, '127.0.0.1').pipe(process.stdout)"], { encoding: 'utf8' })`,
    });
    assert.equal(connections, 0);
  });

  test('a command of a template changes the home directory', async () => {
    const path = join(target.home, 'touched');
    await attackAll({
      ruby: `system("touch", ${JSON.stringify(path)}); \`touch ${path}\``,
      javascript: `return process.getBuiltinModule('child_process').execFileSync('touch', [${JSON.stringify(path)}])`,
    });
    await assert.rejects(access(path), { code: 'ENOENT' });
  });

  test('a template writes into the home directory and beside the renderer', async () => {
    for (const path of [join(target.home, 'written'), join(import.meta.dirname, 'written-by-a-template')]) {
      await attackAll({
        ruby: `File.write(${JSON.stringify(path)}, "x")`,
        javascript: `return process.getBuiltinModule('fs').writeFileSync(${JSON.stringify(path)}, 'x')`,
      });
      await assert.rejects(access(path), { code: 'ENOENT' });
    }
  });

  test('a template signals the deployer', async () => {
    const pid = process.pid;
    await attackAll({
      ruby: `[${pid}, Process.ppid, 0].each { |pid| Process.kill("WINCH", pid) rescue nil }; "done"`,
      javascript: `return process.kill(${pid}, 'SIGWINCH')`,
    });
    assert.equal(signals, 0);
  });
}

describe('ruby.wasm', () => suite(undefined));

const ruby = await findRuby(process.env['PATH']);
describe('native ruby', { skip: ruby === undefined ? 'needs ruby on PATH' : false }, () => suite(ruby));
