import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { fakeMmdebstrap } from '../../stemcell/testing/fake-mmdebstrap.ts';
import { filesOverRoot } from '../../stemcell/testing/files-over-root.ts';
import { recordOutput } from '../testing/record-output.ts';
import { buildStemcell } from './build.ts';

const notRoot = process.geteuid?.() !== 0 && 'needs root, as a Debian root does';

test('the image has the given agent, monit and davcli, unmodified', { skip: notRoot }, async (t) => {
  const directory = await scratchDirectory(t);
  const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
  const programs = [
    ['agent', 'bosh-agent'],
    ['monit', 'monit'],
    ['davcli', 'bosh-blobstore-dav'],
  ] as const;
  for (const [option] of programs) await writeFile(join(directory, option), `#!/bin/sh\n: ${option}\n`);
  const build = async (...options: string[]): Promise<{ err: string; version: string; image: string }> => {
    const at = recordOutput(environment);
    const output = join(directory, `out-${options.length}`);
    const flags = options.flatMap((option) => [`--${option}`, join(directory, option)]);
    const args = ['--from-debian', '--profile', 'baseline', ...flags, '--output', output];
    assert.equal(await buildStemcell(args, at.context), 0);
    return {
      err: at.errors.join('\n'),
      version: at.out.split('\n')[0] ?? '',
      image: join(output, 'image'),
    };
  };

  const whole = await build('agent', 'monit', 'davcli');

  const files = await filesOverRoot(whole.image);
  for (const [option, name] of programs) {
    const target = files.get(`var/vcap/bosh/bin/${name}`)?.target;
    assert.equal(target, `/usr/lib/bosh-kubernetes/${name}`);
    const text = `#!/bin/sh\n: ${option}\n`;
    assert.deepEqual(files.get(target.slice(1)), { text, mode: 0o755, target: '' });
  }
  assert.doesNotMatch(whole.err, /davcli/);
  const without = await build('agent', 'monit');
  assert.match(without.err, /no bosh-blobstore-dav, .* VMs of a director .* --davcli FILE/);
  assert.notEqual(without.version, whole.version);
});

test(
  'a program for another architecture is refused before the build starts',
  { skip: notRoot },
  async (t) => {
    const directory = await scratchDirectory(t);
    const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
    const foreign = join(directory, 'foreign');
    const script = join(directory, 'script');
    await writeFile(foreign, elfHeader(process.arch === 'x64' ? 183 : 62));
    await writeFile(script, '#!/bin/sh\n');
    for (const option of ['agent', 'monit', 'davcli']) {
      const programs = { agent: script, [option]: foreign };
      const flags = Object.entries(programs).flatMap(([name, path]) => [`--${name}`, path]);
      const args = ['--from-debian', '--profile', 'baseline', ...flags, '--output', join(directory, 'out')];
      await assert.rejects(buildStemcell(args, recordOutput(environment).context), {
        code: 'INVALID_ARGUMENT',
        message: /foreign' is an executable for (arm64|amd64), and the stemcell is for (arm64|amd64)/,
      });
    }
    assert.ok(!existsSync(join(directory, 'calls')), 'mmdebstrap was not called');
  },
);

/** Returns the start of a 64-bit ELF executable for a processor, given by its ELF machine number. */
function elfHeader(machine: number): Buffer {
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(machine, 18);
  return header;
}

const noAgent = process.arch !== 'x64' && 'needs x86-64, as our agent does';
/** Replaces scripts/build-agent.ts, which takes half a minute on a busy machine. */
const quickScript = `
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
writeFileSync(process.argv[2], 'ELF');
writeFileSync(join(dirname(process.argv[2]), 'NOTICE'), 'Bun and packages');
`;

test('our own agent comes with the notices of its contents', { skip: notRoot || noAgent }, async (t) => {
  const directory = await scratchDirectory(t);
  const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
  const at = recordOutput(environment);
  const installation = { root: join(directory, 'installation'), nodeBinary: process.execPath };
  await mkdir(join(installation.root, 'scripts'), { recursive: true });
  await writeFile(join(installation.root, 'scripts', 'build-agent.ts'), quickScript);
  await writeFile(join(installation.root, 'package.json'), '{"type": "module"}');
  const output = join(directory, 'out');
  await buildStemcell(['--from-debian', '--profile', 'baseline', '--output', output], {
    ...at.context,
    installation: { ...at.context.installation, ...installation },
  });
  const files = await filesOverRoot(join(output, 'image'));
  const documents = 'usr/share/doc/bosh-kubernetes';
  assert.match(files.get(`${documents}/LICENSE`)?.text ?? '', /Apache License/u);
  assert.equal(files.get('usr/lib/bosh-kubernetes/bosh-agent')?.text, 'ELF');
  assert.equal(files.get(`${documents}/NOTICE`)?.text, 'Bun and packages');
});

test(
  'the npm package gives a stemcell the agent that it contains, or names the option for another one',
  { skip: notRoot || noAgent },
  async (t) => {
    const directory = await scratchDirectory(t);
    const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
    const root = join(directory, 'package');
    const agents = join(root, 'dist', 'agent');
    await mkdir(agents, { recursive: true });
    const build = (output: string): Promise<number> => {
      const { context } = recordOutput(environment);
      const installation = { ...context.installation, root, isPackage: true };
      const args = ['--from-debian', '--profile', 'baseline', '--output', join(directory, output)];
      return buildStemcell(args, { ...context, installation });
    };

    await assert.rejects(build('none'), { code: 'STEMCELL_BUILD_FAILED', message: /--agent FILE/ });
    for (const name of ['bosh-agent', 'NOTICE']) await writeFile(join(agents, name), name);
    await build('out');

    const files = await filesOverRoot(join(directory, 'out', 'image'));
    assert.equal(files.get('usr/lib/bosh-kubernetes/bosh-agent')?.text, 'bosh-agent');
    assert.equal(files.get('usr/share/doc/bosh-kubernetes/NOTICE')?.text, 'NOTICE');
  },
);

/** Makes this process create its temporary files in a directory until the test ends. */
async function temporaryDirectory(t: TestContext, path: string): Promise<string> {
  await mkdir(path);
  const previous = process.env['TMPDIR'];
  process.env['TMPDIR'] = path;
  t.after(() => {
    if (previous === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = previous;
  });
  return path;
}

test(
  'a build that is interrupted after it made the root reports this and leaves no files',
  { skip: notRoot },
  async (t) => {
    const directory = await scratchDirectory(t);
    const temporary = await temporaryDirectory(t, join(directory, 'tmp'));
    const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
    const agent = join(directory, 'given-agent');
    await writeFile(agent, '#!/bin/sh\n');
    const args = ['--from-debian', '--profile', 'baseline', '--agent', agent];
    await buildStemcell([...args, '--output', join(directory, 'first')], recordOutput(environment).context);
    const at = recordOutput(environment);
    const interrupted = new AbortController();
    const { terminal } = at.context;
    const context = {
      ...at.context,
      signal: interrupted.signal,
      terminal: {
        ...terminal,
        error: (line: string) => {
          terminal.error(line);
          if (line.startsWith('This root is in the cache'))
            interrupted.abort(new Error('interrupted by SIGTERM'));
        },
      },
    };
    const before = await readdir(directory);
    await assert.rejects(buildStemcell([...args, '--output', join(directory, 'second')], context), {
      code: 'INTERRUPTED',
      message: /^No stemcell was built: interrupted by SIGTERM/,
    });
    assert.ok(interrupted.signal.aborted);
    assert.deepEqual(await readdir(directory), before);
    assert.deepEqual([at.out, await readdir(temporary)], ['', []]);
  },
);

/**
 * Replaces scripts/build-agent.ts: works until it receives a signal and then cleans up for a while, as does
 * its child process.
 */
const slowScript = (notes: string): string => `
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
let helper;
process.on('SIGTERM', () => helper.on('close', () => {
  mkdirSync(join(dirname(process.argv[2]), '.build-late'), { recursive: true });
  writeFileSync('${notes}/ended', '');
}));
// its sign that it works may come before this process does anything else
helper = spawn('sh', ['-c', 'trap ": > ${notes}/helper-ended; exit" TERM; : > ${notes}/works; while [ -d ${notes} ]; do sleep 0.05; done'], { stdio: 'ignore' });
`;

test(
  'a build that is interrupted while it makes the agent ends after that step',
  { skip: notRoot },
  async (t) => {
    const directory = await scratchDirectory(t);
    const temporary = await temporaryDirectory(t, join(directory, 'tmp'));
    const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
    const installation = join(directory, 'installation');
    await mkdir(join(installation, 'scripts'), { recursive: true });
    await writeFile(join(installation, 'scripts', 'build-agent.ts'), slowScript(directory));
    await writeFile(join(installation, 'package.json'), '{"type": "module"}');
    const interrupted = new AbortController();
    const at = recordOutput(environment);
    const building = buildStemcell(
      ['--from-debian', '--profile', 'baseline', '--output', join(directory, 'out')],
      {
        ...at.context,
        signal: interrupted.signal,
        installation: { ...at.context.installation, root: installation, nodeBinary: process.execPath },
      },
    );
    const rejected = assert.rejects(building, { code: 'INTERRUPTED', message: /interrupted by SIGINT/ });
    while (!existsSync(join(directory, 'works'))) await setTimeout(5);
    interrupted.abort(new Error('interrupted by SIGINT'));
    await rejected;
    assert.ok(existsSync(join(directory, 'helper-ended')), 'what it runs was asked to end, too');
    assert.ok(existsSync(join(directory, 'ended')), 'and it had the time to tidy up');
    assert.deepEqual(await readdir(temporary), []);
    assert.ok(!existsSync(join(directory, 'out')));
  },
);

test('a failed build of the agent shows the output of the build', { skip: notRoot }, async (t) => {
  const directory = await scratchDirectory(t);
  const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
  const installation = join(directory, 'installation');
  await mkdir(join(installation, 'scripts'), { recursive: true });
  await writeFile(join(installation, 'scripts', 'build-agent.ts'), "throw new Error('no compiler');");
  const at = recordOutput(environment);
  const building = (nodeBinary: string): Promise<number> =>
    buildStemcell(['--from-debian', '--profile', 'baseline', '--output', join(directory, 'out')], {
      ...at.context,
      installation: { ...at.context.installation, root: installation, nodeBinary },
    });
  await assert.rejects(building(process.execPath), {
    code: 'STEMCELL_BUILD_FAILED',
    message: /^The agent could not be built:[^]*no compiler/,
  });
  await assert.rejects(building(join(directory, 'no-node')), {
    code: 'STEMCELL_BUILD_FAILED',
    message: /no-node/,
  });
});
