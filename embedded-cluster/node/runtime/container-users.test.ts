import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { describeInNamespace, namespaceMode } from '../testing/in-namespace.ts';
import { privileged, runtimeWorld } from './testing/runtime-world.ts';

// An unprivileged user has only one id here, so pods have no other user.
const skip = namespaceMode === 'root' ? false : 'needs root';

describeInNamespace(import.meta.filename, () => {
  const world = runtimeWorld();

  test(
    'changes sysctls of its IPC namespace, and affects neither other pods nor the machine',
    { skip },
    async () => {
      const names = ['shmmax', 'shmall', 'shmmni', 'shm_rmid_forced', 'msgmax', 'msgmnb', 'msgmni', 'sem'];
      const before = await Promise.all(names.map((name) => readFile(`/proc/sys/kernel/${name}`, 'utf8')));
      const settings = [
        ...['shmmax=1073741824', 'shmall=262144', 'shmmni=5000', 'shm_rmid_forced=1'],
        ...['msgmax=9000', 'msgmnb=17000', 'msgmni=30000'],
        'sem=250 32000 100 129',
      ].map((setting) => setting.split('='));
      const { exitCode, output } = await world.shell(
        [
          'exec 2>&1; set -e',
          ...settings.map(([name, value]) => `echo ${value} > /proc/sys/kernel/${name}`),
          ...names.map((name) => `cat /proc/sys/kernel/${name}`),
          "ipcs -l | grep 'max seg size'",
          'setpriv --reuid 1000 --regid 1000 --clear-groups ipcmk -M 10 > /dev/null',
          'ipcrm --all=shm',
        ].join('\n'),
        { security: privileged },
      );
      assert.equal(exitCode, 0, output);
      assert.equal(
        output,
        `1073741824\n262144\n5000\n1\n9000\n17000\n30000\n250\t32000\t100\t129\nmax seg size (kbytes) = 1048576\n`,
      );
      assert.deepEqual(
        await Promise.all(names.map((name) => readFile(`/proc/sys/kernel/${name}`, 'utf8'))),
        before,
      );
      const refused = await world.shell(
        `exec 2>&1
      for name in sem_next_id msg_next_id core_pattern hostname panic; do
        echo 1 > /proc/sys/kernel/$name && echo BAD $name
      done
      chmod 666 /proc/sys/kernel/shmmax && echo BAD mode
      mv /proc/sys/kernel/shmmax /proc/sys/kernel/x && echo BAD name
      mount -o remount,bind,rw /proc/sys && echo BAD remount
      mount --bind /proc/sys/kernel /mnt && echo 1 > /mnt/panic && echo BAD bind
      exit 0`,
        { security: privileged },
      );
      assert.doesNotMatch(refused.output, /BAD/, refused.output);
    },
  );

  test('root switches to another user by su, and other users cannot', { skip }, async () => {
    const { output } = await world.shell(
      [
        'exec 2>&1',
        `echo 'export FROM_PROFILE=yes' > /etc/profile.d/test.sh`,
        `su - vcap -c 'id; pwd; echo profile $FROM_PROFILE $HOME $USER'`,
        `su vcap -s /bin/sh -c 'echo su $(id -un)'`,
        `runuser -u vcap -- sh -c 'echo runuser $(id -un)'`,
        `su vcap -c 'echo secret | su root -c "echo BAD su"'`,
      ].join('\n'),
    );
    assert.match(
      output,
      /^uid=1000\(vcap\) gid=1000\(vcap\) groups=1000\(vcap\),997\(bosh_sshers\),999\(admin\)\n\/home\/vcap\nprofile yes \/home\/vcap vcap\nsu vcap\nrunuser vcap\n/,
    );
    assert.doesNotMatch(output, /BAD/);
  });

  test(
    'root, and the group of bosh ssh, switch to another user by sudo',
    { skip: skip !== false ? skip : existsSync('/usr/bin/sudo') ? false : 'needs sudo' },
    async () => {
      const { output } = await world.shell(
        [
          'exec 2>&1',
          `sudo -u vcap id -un`,
          `sed -i 's/^bosh_sudoers.*/&vcap/' /etc/group`,
          `su vcap -c 'sudo -n id -un'`,
          `sed -i 's/^bosh_sudoers.*/bosh_sudoers:x:996:/' /etc/group`,
          `su vcap -c 'sudo -n echo BAD sudo'`,
        ].join('\n'),
        { files: new Map([['/etc/hosts', '127.0.0.1 localhost vm-1\n']]) },
      );
      assert.match(output, /^vcap\nroot\n.*(password is required|not in the sudoers)/s);
      assert.doesNotMatch(output, /BAD/);
    },
  );

  test('has the groups that scripts of releases expect, and the locale en_US.UTF-8', async () => {
    const { exitCode, output } = await world.shell(
      `for group in utmp syslog bosh_sshers bosh_sudoers admin vcap; do getent group $group > /dev/null || echo no $group; done
      locale -a; LC_ALL=en_US.UTF-8 sh -c 'locale charmap; cat /usr/lib/locale/*/LC_IDENTIFICATION > /dev/null' 2>&1; touch /usr/lib/locale/x 2>&1`,
    );
    assert.notEqual(exitCode, 0);
    assert.doesNotMatch(output, /^no /m);
    assert.match(output, /^en_US\.utf8$/m);
    assert.match(output, /^UTF-8$/m);
    assert.match(output, /^C\.utf8$/im);
    assert.match(output, /touch: .*Read-only/);
    assert.doesNotMatch(output, /Cannot set|No such/);
  });
});
