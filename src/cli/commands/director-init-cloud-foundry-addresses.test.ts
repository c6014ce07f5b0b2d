import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { nodes } from '../../kubernetes/resources.ts';
import { isThere, problemOf, useAccount } from '../testing/director-setting.ts';
import {
  address,
  domain,
  highlyAvailable,
  leave,
  nobleStemcell,
  startFoundrySetting as setting,
  zonal,
  type FoundrySetting,
} from '../testing/foundry-setting.ts';

const lists = ['services', 'storageclasses'];
const variablesOf = async ({ read }: FoundrySetting): Promise<Record<string, unknown>> =>
  parse(await read('cloud-foundry/vars.yml')) as Record<string, unknown>;

describe('the values of director init --with cloud-foundry', () => {
  test('the zones are those with the most free memory, and are chosen again if nothing is deployed', async (t) => {
    const all = await setting(t, new Map(), [...zonal, { name: 'node-c', zone: 'c' }]);
    await leave(all, 'node-a', { cpu: 90, memory: 12 });

    assert.match(await all.prepare(...highlyAvailable), /^Zones +ok +b, c, no$/mu);

    const moved = { 'topology.kubernetes.io/zone': '0' };
    await all.cluster.api.patch({ resource: nodes, name: 'node-c' }, { metadata: { labels: moved } });
    assert.match(await all.prepare('--layout', 'highly-available'), /^Zones +ok +0, b, no$/mu);
  });

  test('a user who may not list pods gets the zones, and one who may not list nodes is told so', async (t) => {
    const all = await setting(t, new Map(), zonal);
    await useAccount(all, [...lists, 'nodes']);
    const out = await all.prepare(...highlyAvailable);
    assert.match(out, /^Zones +ok +a, b, no$/mu);
    assert.match(out, /^Room for VMs +unknown +you may not list pods$/mu);

    const other = await setting(t, new Map(), zonal);
    await useAccount(other, lists);
    assert.match(
      await problemOf(other.prepare(...highlyAvailable)),
      /Zones: .* in three zones, and you may not list nodes: use a kubeconfig that may list them, or choose --layout smallest with --address/u,
    );
    for (const way of [[], ['--way', 'loadbalancer', '--address', 'lb.example.com']])
      assert.match(
        await problemOf(other.init('--with', 'cloud-foundry', ...way, other.directory)),
        /^INVALID_ARGUMENT You may not list nodes, .* name one with --address or, with --way loadbalancer, .* use a kubeconfig that may list nodes$/u,
      );
    assert.match(
      await other.prepare(),
      /^Address of Services +unknown +you may not list nodes, so it was not checked that one has 198\.18\.0\.1$/mu,
    );
  });

  test('an address of no node is named, and one that other machines do not reach is refused', async (t) => {
    const all = await setting(t);
    assert.match(
      await all.prepare('--address', '192.0.2.11'),
      /^Address of Services +missing +no node has 192\.0\.2\.11, .* with --address, such as 198\.18\.0\.1$/mu,
    );
    assert.match(
      await problemOf(all.prepare('--address', '127.0.0.1')),
      /^INVALID_ARGUMENT '127\.0\.0\.1' is not an address at which other machines reach a node: .* name one with --address$/u,
    );
  });

  test('a domain in use stays if the address changes, and the remedy names the one of the new address', async (t) => {
    const all = await setting(t, new Map(), [{ name: 'node-1' }, { name: 'node-2' }]);
    const other = '198.18.0.2';
    await all.prepare();
    await all.prepare('--address', other);
    assert.equal((await variablesOf(all))['system_domain'], `${other}.sslip.io`);
    await writeFile(join(all.directory, 'cf-vars.yml'), '{}\n');
    assert.match(
      await all.prepare(),
      new RegExp(
        `resolves to ${other}, and not to ${address}, so .* tunnel: name another domain with --system-domain, such as ${domain}$`,
        'mu',
      ),
    );
    assert.equal((await variablesOf(all))['system_domain'], `${other}.sslip.io`);
  });

  test('an IPv6 address is written in one spelling, and a public domain that does not resolve is a matter of the resolver', async (t) => {
    const records = new Map(
      ['api', 'random'].map((name) => [`${name}.2001-db8--a.sslip.io`, '2001:DB8:0::A']),
    );
    const all = await setting(t, records);
    const out = await all.prepare('--address', '2001:DB8:0:0::A');
    assert.match(out, /^System domain +ok +\*\.2001-db8--a\.sslip\.io resolves to /mu);
    const { node_address: written, system_domain: itsDomain } = await variablesOf(all);
    assert.deepEqual([written, itsDomain], ['2001:db8::a', '2001-db8--a.sslip.io']);
    assert.match(
      await all.prepare('--address', '2001:db8::5'),
      /does not resolve here \(ENOTFOUND\), so .* tunnel: the resolver of this machine does not reach the internet or drops private addresses; use another one, or name a domain/u,
    );
  });

  test('refuses a domain for which names or certificates would be invalid', async (t) => {
    const { prepare, directory } = await setting(t);
    const label = 'a'.repeat(41);
    for (const wrong of [`${label}a.example.com`, '1.2.3.4.5', 'cf.example.1'])
      assert.match(
        await problemOf(prepare('--system-domain', wrong)),
        /--system-domain '.*' is not a valid domain .* at most 53 characters/u,
      );
    assert.equal(await isThere(directory), false);
    await prepare('--system-domain', `${label}.example.com`);
  });

  test('refuses another version of Ubuntu noble than that of the compiled releases', async (t) => {
    const { prepare, directory } = await setting(t);
    const other = join(directory, '../other.tgz');
    await packLightStemcell({ ...nobleStemcell, version: '1.424' }, other);
    assert.match(
      await problemOf(prepare('--vm-stemcell', other)),
      /Stemcell of cells: '.*other\.tgz' has version 1\.424, and cf-deployment needs version 1\.425 .* stemcell build --from FILE/u,
    );
  });
});
