import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi } from '../../src/kubernetes/client/rest-api.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { hasKubectl, Kubectl } from '../kubectl/kubectl.ts';
import { killHard } from '../support/machine.ts';
import { Checkout } from './checkout.ts';
import { deployOutput, readmeScreens, shapeOf, withoutNpm } from './readme-screens.ts';

const source = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const state = 'examples/hello/manifest-state.json';
const users = process.getuid?.() === 0 ? [undefined, 65534] : [undefined];

for (const uid of users) {
  const who = uid ?? process.getuid?.() ?? 0;
  // Root runs only the tests with a difference for root. The others run as the user with fewer permissions.
  const full = (name: string, body: () => Promise<void>): void => {
    if (uid === users.at(-1)) void test(name, body);
  };
  describe(`all commands in a fresh clone, as uid ${who}`, () => {
    let checkout: Checkout;
    let url: string;
    let content: string;
    let kubeconfig: string;

    /** Returns the uid of the pod of the VM that the state file records. */
    async function podUid(): Promise<string> {
      const { current_vm_cid: vm } = await checkout.readJson(state);
      const api = await openApi(await loadAccess(kubeconfig));
      const { items } = await api.list(pods, { namespace: 'bosh' });
      api.close();
      return (
        items.find(({ metadata }) => metadata.name === vm)?.metadata.uid ??
        assert.fail(`no pod ${String(vm)}`)
      );
    }

    before(async () => {
      checkout = await Checkout.clone(source, { uid });
    });

    after(async () => {
      await checkout.npm(['run', 'destroy', '--', '--force', '--all']);
      await checkout.remove();
    });

    test('npm stop and status of a clone that never started report this without an installation', async () => {
      const stopped = await checkout.npm(['stop']);
      const status = await checkout.npm(['run', 'status']);

      assert.deepEqual([stopped.exitCode, status.exitCode], [0, 3]);
      assert.match(stopped.stdout, /^Not running\.$/m);
      assert.match(status.stdout, /^There is no embedded cluster here; 'npm start' makes one\.$/m);
      assert.doesNotMatch(stopped.stderr + status.stderr, /Installing/);
    });

    test('npm start deploys the example and prints as its last line a URL that answers', async () => {
      const started = await checkout.npm(['start']);

      assert.equal(started.exitCode, 0, started.stdout + started.stderr);
      for (const line of [
        /^Started validating$/m,
        /^  Validating release 'bosh-kubernetes'\.\.\. Finished \(\d\d:\d\d:\d\d\)$/m,
        /^Started installing CPI$/m,
        /^  Creating VM for instance 'hello\/0' from stemcell '.+'\.\.\. Finished/m,
        /^  Attaching disk 'disk-[0-9a-f-]+' to VM 'vm-[0-9a-f-]+'\.\.\. Finished/m,
        /^  Compiling package 'hello-server\/.+'\.\.\. Finished/m,
        /^  Running the post-start scripts 'hello\/0'\.\.\. Finished/m,
        /^hello\/0 +running +127\.64\.0\.10 +disk-[0-9a-f-]+$/m,
      ]) {
        assert.match(started.stdout, line);
      }
      url = started.stdout.trimEnd().split('\n').at(-1) ?? '';
      content = await answer(url);
      assert.match(content, /Hello from BOSH on Kubernetes/);

      const shown = await readmeScreens(source);
      assert.equal(
        shapeOf(deployOutput(started.stdout)),
        shapeOf(shown.output),
        'README.md shows another output',
      );
      assert.equal(
        shapeOf(withoutNpm(started.stderr)),
        shapeOf(shown.startMessages),
        'README.md shows other messages',
      );
      assert.equal(shapeOf(content), shapeOf(shown.answer), 'README.md shows another answer');
    });

    test('cluster kubeconfig prints only a kubeconfig, and clients work with it', async () => {
      const args = ['bin/bosh-kubernetes.mjs', 'cluster', 'kubeconfig'];
      const { current_vm_cid: vm } = await checkout.readJson(state);

      const printed = await checkout.command('node', args);

      assert.deepEqual([printed.exitCode, printed.stderr], [0, '']);
      kubeconfig = printed.stdout;
      assert.match(await podUid(), /^[0-9a-f-]{36}$/);
      if (!(await hasKubectl())) return;
      const beside = dirname(checkout.directory);
      const path = join(beside, 'kubeconfig');
      await writeFile(path, printed.stdout, { mode: 0o600 });
      const listed = await new Kubectl(path, beside).run(['get', 'pods', '-o', 'name']);
      assert.deepEqual([listed.exitCode, listed.stderr], [0, '']);
      assert.ok(listed.stdout.split('\n').includes(`pod/${String(vm)}`), listed.stdout);
    });

    full("npm run volumes:broker sends the requests of a binding's lifecycle", async () => {
      const tried = await checkout.npm(['run', 'volumes:broker']);

      assert.equal(tried.exitCode, 0, tried.stdout + tried.stderr);
      assert.match(tried.stdout, /Every response is as OSBAPI requires it\./);
    });

    full('a second npm start reports that nothing changed', async () => {
      const again = await checkout.npm(['start']);

      assert.equal(again.exitCode, 0, again.stdout + again.stderr);
      assert.match(again.stdout, /No deployment, stemcell or release changes\. Skipping deploy\./);
      assert.equal(again.stdout.trimEnd().split('\n').at(-1), url);
    });

    test('npm stop leaves no process and no mount, and the next npm start runs the same VM', async () => {
      const [stateBeforeStop, pod] = [await checkout.readJson(state), await podUid()];
      assert.ok((await checkout.processes()).some(({ command }) => command.includes('server.cjs')));

      // A checkout that needs other dependencies, perhaps without access to a registry, must still be able to
      // stop.
      await checkout.edit('package-lock.json', (text) => `${text}\n`);
      const stopped = await checkout.npm(['stop']);
      assert.equal(stopped.exitCode, 0, stopped.stdout + stopped.stderr);
      assert.doesNotMatch(stopped.stderr, /Installing|Building/);
      await checkout.edit('package-lock.json', (text) => text.slice(0, -1));
      assert.deepEqual(await checkout.processes(), []);
      assert.deepEqual(await checkout.mounts(), []);

      const started = await checkout.npm(['start']);
      assert.equal(started.exitCode, 0, started.stdout + started.stderr);
      assert.match(started.stdout, /Skipping deploy/);
      assert.deepEqual(await checkout.readJson(state), stateBeforeStop);
      assert.equal(await podUid(), pod, 'a pod is made by create_vm alone');
      assert.equal(await answer(url), content);
    });

    full('a checkout that is moved while it is stopped runs the same VM again', async () => {
      const [stateBeforeMove, pod] = [await checkout.readJson(state), await podUid()];
      await checkout.npm(['stop']);
      await checkout.move();

      const started = await checkout.npm(['start']);

      assert.equal(started.exitCode, 0, started.stdout + started.stderr);
      assert.match(started.stdout, /Skipping deploy/);
      assert.deepEqual(await checkout.readJson(state), stateBeforeMove);
      assert.equal(await podUid(), pod, 'a pod is made by create_vm alone');
      assert.equal(await answer(url), content);
    });

    test('the next npm start after a kill -9 of all processes runs the same VM', async () => {
      const [stateBeforeKill, pod] = [await checkout.readJson(state), await podUid()];

      for (const { pid } of await checkout.processes()) killHard(pid);
      const started = await checkout.npm(['start']);

      assert.equal(started.exitCode, 0, started.stdout + started.stderr);
      assert.match(started.stdout, /Skipping deploy/);
      assert.deepEqual(await checkout.readJson(state), stateBeforeKill);
      assert.equal(await podUid(), pod, 'a pod is made by create_vm alone');
      assert.equal(await answer(url), content);
    });

    full(
      'only one of two concurrent npm start deploys, and the other reports that one is running',
      async () => {
        await checkout.edit('examples/hello/manifest.yml', (text) =>
          text.replace('audience: operators', 'audience: both'),
        );
        // Both would build into the same directory.
        await rm(join(checkout.directory, 'dist', '.built-from'));

        const outcomes = await Promise.all([checkout.npm(['start']), checkout.npm(['start'])]);

        const codes = outcomes.map((outcome) => outcome.exitCode).toSorted((a, b) => (a ?? -1) - (b ?? -1));
        assert.deepEqual(codes, [0, 1], JSON.stringify(outcomes, null, 2));
        const refused = outcomes.find((outcome) => outcome.exitCode === 1);
        assert.match(
          refused?.stderr ?? '',
          /another installation or build is running here|Another run \(process/,
        );
      },
    );

    full('a changed manifest recreates the VM and keeps the content of the disk', async () => {
      const stateBeforeChange = await checkout.readJson(state);
      await checkout.edit('examples/hello/manifest.yml', (text) =>
        text.replace('port: 8080', 'port: 8081').replace(':8080/', ':8081/'),
      );

      const started = await checkout.npm(['start']);

      assert.equal(started.exitCode, 0, started.stdout + started.stderr);
      assert.notEqual(
        (await checkout.readJson(state))['current_vm_cid'],
        stateBeforeChange['current_vm_cid'],
      );
      url = started.stdout.trimEnd().split('\n').at(-1) ?? '';
      assert.match(url, /:8081\//);
      // The edit of the test before this one.
      content = content.replace('For operators', 'For both');
      assert.equal(await answer(url), content);
    });

    full('npm start reports sources that do not build, and npm stop still ends the cluster', async () => {
      const path = 'src/cli/main.ts';
      await checkout.edit(path, (text) => `${text}}\n`);
      const started = await checkout.npm(['start']);
      assert.notEqual(started.exitCode, 0);
      assert.match(started.stderr, /the build failed/);

      const stopped = await checkout.npm(['stop']);
      assert.equal(stopped.exitCode, 0, stopped.stdout + stopped.stderr);
      assert.deepEqual(await checkout.processes(), []);
      await checkout.edit(path, (text) => text.slice(0, -'}\n'.length));
    });

    full('refused arguments start no cluster, although a build starts at the same time', async () => {
      const refused = await checkout.npm(['start', '--', '--no-such-option']);
      assert.notEqual(refused.exitCode, 0);
      assert.match(refused.stderr, /Building[^]*--no-such-option/);
      const status = await checkout.npm(['run', '--silent', 'status']);
      assert.match(status.stdout, /^Embedded cluster stopped; /m);
    });

    full(
      'npm start builds again after a kill during a build, although the sources are the old ones',
      async () => {
        const path = 'src/cli/main.ts';
        await checkout.edit(path, (text) => `${text}// other\n`);
        await checkout.npm(['start'], { killAfterLine: /Building/ });
        const status = await checkout.npm(['run', '--silent', 'status']);
        assert.match(status.stdout, /^Embedded cluster (running|stopped); /m);
        assert.doesNotMatch(status.stderr, /Building/);
        await checkout.edit(path, (text) => text.replace('// other\n', ''));

        const started = await checkout.npm(['start']);
        assert.equal(started.exitCode, 0, started.stdout + started.stderr);
        assert.match(started.stderr, /Building/);
        assert.equal(await answer(url), content);
      },
    );

    full(
      'the next run after Ctrl-C or kill -9 during a deploy converges to one VM with its disk',
      async () => {
        await checkout.edit('examples/hello/manifest.yml', (text) =>
          text.replace('port: 8081', 'port: 8082').replace(':8081/', ':8082/'),
        );

        const interrupted = await checkout.npm(['start'], { killAfterLine: /Deleting VM/, signal: 'SIGINT' });
        assert.match(interrupted.stderr, /\[INTERRUPTED\]/);
        await checkout.npm(['start'], { killAfterLine: /Creating VM for instance/ });
        const started = await checkout.npm(['start']);

        assert.equal(started.exitCode, 0, started.stdout + started.stderr);
        url = started.stdout.trimEnd().split('\n').at(-1) ?? '';
        assert.equal(await answer(url), content);
        const status = await checkout.npm(['run', '--silent', 'status']);
        assert.equal(status.stdout.match(/ {2}vm-/g)?.length, 1, status.stdout);
      },
    );

    test('npm run destroy refuses without an answer, and with --force removes everything', async () => {
      const refused = await checkout.npm(['run', 'destroy']);
      assert.notEqual(refused.exitCode, 0);
      assert.equal(await answer(url), content);

      const destroyed = await checkout.npm(['run', 'destroy', '--', '--force']);

      assert.equal(destroyed.exitCode, 0, destroyed.stdout + destroyed.stderr);
      assert.deepEqual([await checkout.processes(), await checkout.mounts()], [[], []]);
      assert.deepEqual(await checkout.untracked(), []);
      await assert.rejects(answer(url));
      await assert.rejects(checkout.readJson(state), { code: 'ENOENT' });
    });
  });
}

async function answer(url: string): Promise<string> {
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return response.text();
}
