import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  access,
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readFile,
  readdir,
  rm,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { whyNotRun } from '../../../embedded-cluster/testing/why-not-run.ts';
import { isProductError } from '../../errors/product-error.ts';
import { findRuby, rendererOf } from './create-template-renderer.ts';
import { withNamespaces, withLimits, nativeRuby, wasmRuby } from './ruby-command.ts';
import type { RubyCommand } from './ruby-command.ts';
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

/** A Ruby expression for the number of the session's key ring. */
const keyringId =
  '(syscall({ "x86_64" => 250, "aarch64" => 219 }[RUBY_PLATFORM[/^[^-]+/]], 0, -3, 0) rescue "")';

/** Returns the key ring's number outside of the renderer; empty if there are no key rings. */
const keyrings = (path: string | undefined): string =>
  path === undefined ? '' : execFileSync(path, ['-W0', '-e', `print ${keyringId}`], { encoding: 'utf8' });

async function processesWith(mark: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')));
  return ids.filter((_, index) => lines[index]?.split('\0').includes(mark));
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Files in `home`, below the home directory of the user who runs the test. */
interface Target {
  readonly home: string;
  readonly port: number;
}

/** Runs the same tests for each of our commands. */
function suite(command: RubyCommand): void {
  const renderer = rendererOf([command], {});
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
    await renderer.close();
    server.close();
    process.off('SIGWINCH', onSignal);
    delete process.env['OPERATORS_SECRET'];
    await rm(target.home, { recursive: true });
  });

  /** Returns the output of the template. If the process ends instead, the attack has found nothing. */
  async function attack(code: string): Promise<string> {
    try {
      const template = `<%= begin; ${code}; rescue Exception => error; "refused: #{error.class}"; end %>`;
      const [found = ''] = await renderer.render([{ name: 'web/templates/x.erb', template, context }]);
      return found;
    } catch (error) {
      if (!isProductError(error, 'RUBY_FAILED')) throw error;
      assert.match(error.message, /web\/templates\/x\.erb/);
      return `refused: ${error.message}`;
    }
  }

  test('the result of an expression is reported, so the following attacks run', async () => {
    assert.equal(await attack('"#{1 + 1}"'), '2');
  });

  test('a template cannot read a file of the home directory', async () => {
    const found = await attack(`File.read(${JSON.stringify(join(target.home, 'key'))})`);
    assert.doesNotMatch(found, new RegExp(secret));
  });

  test('a template cannot read secrets of the environment', async () => {
    const others = '*Dir["/proc/*/environ"].map { |path| File.read(path) rescue "" }';
    assert.doesNotMatch(await attack(`[ENV.to_h.inspect, ${others}].join`), new RegExp(secret));
  });

  test('a template cannot reach a listener of the machine', async () => {
    const found = await attack(`require "socket"; TCPSocket.new("127.0.0.1", ${target.port}).read`);
    assert.doesNotMatch(found, new RegExp(secret));
    assert.equal(connections, 0);
  });

  test('a command of a template cannot change the home directory', async () => {
    const path = join(target.home, 'touched');
    await attack(`system("touch", ${JSON.stringify(path)}); \`touch ${path}\``);
    await assert.rejects(access(path), { code: 'ENOENT' });
  });

  test('a template cannot write into the home directory or beside the renderer', async () => {
    for (const path of [join(target.home, 'written'), join(import.meta.dirname, 'written-by-a-template')]) {
      await attack(`File.write(${JSON.stringify(path)}, "x")`);
      await assert.rejects(access(path), { code: 'ENOENT' });
    }
  });

  test('a template cannot signal the deployer', async () => {
    const pids = `[${process.pid}, Process.ppid, 0]`;
    await attack(`${pids}.each { |pid| Process.kill("WINCH", pid) rescue nil }; "done"`);
    assert.equal(signals, 0);
  });

  test('a template cannot attack through JavaScript', async () => {
    const path = join(target.home, 'by-javascript');
    const code = `
      const { execFileSync } = process.getBuiltinModule('child_process');
      const fs = process.getBuiltinModule('fs');
      const attempts = [
        () => fs.readFileSync('${join(target.home, 'key')}', 'utf8'),
        () => JSON.stringify(process.env),
        () => execFileSync(process.execPath, ['-e',
          "require('net').connect(${target.port}, '127.0.0.1').pipe(process.stdout)"], { encoding: 'utf8' }),
        () => execFileSync('touch', ['${path}']),
        () => fs.writeFileSync('${path}', 'x'),
        () => process.kill(${process.pid}, 'SIGWINCH'),
      ];
      return 'JavaScript ran: ' + attempts.map((attempt) => { try { return attempt(); } catch (error) { return error; } }).join();`;
    const found = await attack(`require "js"; JS.eval(${JSON.stringify(code)}).to_s`);
    assert.doesNotMatch(found, new RegExp(`JavaScript ran|${secret}`));
    await assert.rejects(access(path), { code: 'ENOENT' });
    assert.deepEqual([connections, signals], [0, 0]);
  });

  test('a template cannot take all memory', async () => {
    assert.match(await attack('("x" * (2 ** 30)).length'), /^refused/);
  });

  /** The descriptors on which the renderer may send its results; STDOUT is not one of them. */
  const outputs =
    'ObjectSpace.each_object(IO).reject { |io| io.closed? || [0, 2].include?(io.fileno) }.each { |io| io.sync = true }';

  test('a template cannot flood its output', async () => {
    assert.match(
      await attack(
        `chunk = "x" * 1_000_000; found = ${outputs}; loop { found.each { |io| io.write(chunk) } }`,
      ),
      /^refused: .*64 MiB/,
    );
  });

  test('a template cannot respond in place of ruby', async () => {
    const found = await attack(
      `${outputs}.each { |io| io.puts("{}", "[1]", "null", '{"text":1}', '{"error":{}}') }`,
    );
    assert.match(found, /^refused: .*standard output/);
  });

  test('a template cannot use the file descriptors of the deployer', async () => {
    const file = join(target.home, 'written-by-descriptor');
    await using key = await open(join(target.home, 'key'));
    await using directory = await open('/');
    await using output = await open(file, 'w');
    const program = `
      import { rendererOf } from '${join(import.meta.dirname, 'create-template-renderer.ts')}';
      const renderer = rendererOf([JSON.parse(process.argv[1])], {});
      const batch = JSON.parse(process.argv[2]);
      for (const one of batch) console.log(String(await renderer.render([one]).catch((error) => error)));
      await renderer.close();`;
    const attempts = [
      'IO.for_fd(20).read',
      'openat = { "x86_64" => 257, "aarch64" => 56 }[RUBY_PLATFORM[/^[^-]+/]]; ' +
        'IO.for_fd(syscall(openat, 21, "etc/hostname", 0)).read',
      'io = IO.for_fd(63, "w"); io.write("forged"); io.flush; "tried"',
      'JSON.parse("[1]").to_s',
    ];
    const batch = attempts.map((code) => ({
      name: 'x',
      template: `<%= begin; ${code}; rescue Exception => error; "refused: #{error.class}"; end %>`,
      context,
    }));
    const stdio: ('ignore' | 'pipe' | number)[] = Array.from({ length: 64 }, () => 'ignore');
    stdio[1] = 'pipe';
    for (const [at, from] of [
      [2, 2],
      [20, key.fd],
      [21, directory.fd],
      [63, output.fd],
    ] as const)
      stdio[at] = from;
    const args = ['--input-type=module', '-e', program, JSON.stringify(command), JSON.stringify(batch)];
    const deployer = spawn(process.execPath, args, { stdio });
    assert.ok(deployer.stdout !== null);
    const message = await text(deployer.stdout);
    assert.match(message, /^\[1\]$/m);
    assert.doesNotMatch(message, new RegExp(secret));
    const host = (await readFile('/etc/hostname', 'utf8')).trim();
    assert.ok(!message.split('\n').includes(host), message);
    assert.equal(await readFile(file, 'utf8'), '');
  });

  test('a template that does not end is ended', async () => {
    const hasty = rendererOf([command], { templateTimeoutMs: 1500 });
    await hasty.start();
    const batch = [
      { name: 'web/templates/fine', template: 'fine', context },
      {
        name: 'web/templates/endless',
        template: '<% loop { begin; sleep; rescue Exception; end } %>',
        context,
      },
    ];
    await assert.rejects(hasty.render(batch), {
      code: 'RUBY_FAILED',
      message: /^'web\/templates\/endless' was not/,
    });
    await hasty.close();
  });
}

/** Returns why the command does not start in namespaces on this machine, or false if it does. */
async function whyNot(command: RubyCommand): Promise<string | false> {
  const renderer = rendererOf([command], {});
  try {
    await renderer.start();
    return false;
  } catch (error) {
    if (isProductError(error, 'RUBY_FAILED')) return `needs namespaces: ${error.message}`;
    throw error;
  } finally {
    await renderer.close();
  }
}

describe('ruby.wasm without namespaces', () => suite(withLimits(wasmRuby())));

const wasm = withNamespaces(wasmRuby());
describe('ruby.wasm', { skip: await whyNot(wasm) }, () => suite(wasm));

const rubyPath = await findRuby(process.env['PATH']);
const native = rubyPath === undefined ? undefined : withNamespaces(nativeRuby(rubyPath));
const nativeSkip = native === undefined ? 'needs ruby on PATH' : await whyNot(native);
describe('native ruby', { skip: nativeSkip }, () => {
  if (native === undefined) return;
  suite(native);

  test('a template cannot find more of the machine', async () => {
    const renderer = rendererOf([native], {});
    const seen =
      '%w[/root /home /run /var/log /proc/self /etc/passwd /dev/tty /sys /old/usr].select { |path| File.exist?(path) }';
    const variable = '(Dir.children("/var/lib") - ["gems"] rescue [])';
    const writable =
      'Dir["/{*,usr/*,dev/*}"].select { |path| File.directory?(path) && File.writable?(path) }';
    const template = `<%= ${seen} %> <%= ${variable} %> <%= ${writable} %>`;
    assert.deepEqual(await renderer.render([{ name: 'x', template, context }]), ['[] [] ["/tmp"]']);
    await renderer.close();
  });

  test(
    "a template cannot read the operator's key ring",
    { skip: keyrings(rubyPath) === '' && 'no keyctl here' },
    async () => {
      const renderer = rendererOf([native], {});
      const [inside = ''] = await renderer.render([{ name: 'x', template: `<%= ${keyringId} %>`, context }]);
      await renderer.close();
      assert.match(inside, /^\d+$/);
      assert.notEqual(inside, keyrings(rubyPath));
    },
  );

  test('a template cannot read the directory `lib` beside a ruby in the home directory', async (t) => {
    const home = await mkdtemp(join(homedir(), '.a-ruby-at-home-'));
    t.after(() => rm(home, { recursive: true }));
    // Other users must be able to read its ruby: if the test runs as root, templates run as another user.
    await chmod(home, 0o755);
    const key = join(home, 'lib', 'key');
    const own = join(home, 'lib', 'ruby', '3.0.0', 'own.rb');
    for (const path of [key, own, join(home, 'bin', 'ruby')]) await mkdir(dirname(path), { recursive: true });
    await writeFile(key, secret);
    await writeFile(own, 'a part of ruby');
    await copyFile(rubyPath ?? '', join(home, 'bin', 'ruby'));
    const renderer = rendererOf([withNamespaces(nativeRuby(join(home, 'bin', 'ruby')))], {});
    const template = `<%= File.exist?(${JSON.stringify(key)}) %> <%= File.exist?(${JSON.stringify(own)}) %>`;
    assert.deepEqual(await renderer.render([{ name: 'x', template, context }]), ['false true']);
    await renderer.close();
  });

  test('a template cannot leave a process', async () => {
    const mark = `left-by-a-template-${process.pid}`;
    const renderer = rendererOf([native], {});
    const script = 'trap "" TERM HUP INT; while :; do sleep 1; done';
    await renderer.render([
      { name: 'x', template: `<% spawn("sh", "-c", '${script}', "${mark}", pgroup: true) %>`, context },
    ]);
    // While the shell starts sleep, a second process has its command line.
    assert.notDeepEqual(await processesWith(mark), []);
    await renderer.close();
    await waitUntil(async () => (await processesWith(mark)).length === 0);
  });

  test('a template ends when the deployer is killed', async () => {
    const mark = `outlives-the-deployer-${process.pid}`;
    const script = 'while :; do sleep 1; done';
    const template = `<% system("sh", "-c", '${script}', "${mark}") %>`;
    const program = `
      import { rendererOf } from '${join(import.meta.dirname, 'create-template-renderer.ts')}';
      const { command, batch } = JSON.parse(process.env.BATCH);
      await rendererOf([command], {}).render(batch);`;
    const batch = [{ name: 'x', template, context }];
    const deployer = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: 'ignore',
      env: { BATCH: JSON.stringify({ command: native, batch }) },
    });
    await waitUntil(async () => (await processesWith(mark)).length > 0);
    deployer.kill('SIGKILL');
    await waitUntil(async () => (await processesWith(mark)).length === 0);
  });
});

const user = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
const userSkip =
  process.env['NODE_TEST_CONTEXT'] === undefined || process.getuid?.() !== 0
    ? 'needs root, to become another user'
    : (whyNotRun(user, import.meta.filename) ?? false);
test('all of these attacks fail with the renderer of an unprivileged user', { skip: userSkip }, async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-home-'));
  t.after(() => rm(home, { recursive: true }));
  await chown(home, 65_534, 65_534);
  const args = [
    ...[...user.slice(1), process.execPath, '--test-reporter=tap', '--test-skip-pattern=without namespaces'],
    import.meta.filename,
  ];
  const env = { PATH: process.env['PATH'], HOME: home };
  const { stdout } = await promisify(execFile)('setpriv', args, { env, cwd: '/' });
  assert.match(stdout, /^# fail 0$/m);
  t.diagnostic(stdout.match(/^# (pass|skipped) .*$/gm)?.join() ?? '');
});
