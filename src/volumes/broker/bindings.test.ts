import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { verifyVolumeId } from '../signature/signed-volume-id.ts';
import { newPair } from '../signature/testing/new-pair.ts';
import { nfsOffering, type Offering, smbOffering } from './offerings/offering.ts';
import type { VolumeMount } from './store/broker-store.ts';
import { bind } from './bindings.ts';
import { instanceFromRequest } from './instances.ts';
import { parseBind, parseProvision } from './request.ts';
import type { VolumeIdScheme } from './volume-mount.ts';

const operator = { defaults: {}, forced: {} };
const nfs = nfsOffering({ ldap: false, operator });
const nfsLdap = nfsOffering({ ldap: true, operator });
const smb = smbOffering({ operator });
const secrets = { store: 'credhub', name: '/volumes' } as const;
const nfsLdapByRef = nfsOffering({ ldap: true, operator, secrets });
const smbByRef = smbOffering({ operator, secrets });
const pair = newPair();
const schemes: readonly VolumeIdScheme[] = [
  'md5',
  { hmacKey: Buffer.alloc(32, 1) },
  { signingKey: pair.key },
];

/**
 * The options that the old drivers accept and require, from the option tables of nfsv3driver and smbdriver.
 */
const ofNfsDriver = {
  allowed: 'auto_cache mount source experimental uid gid username password readonly version cache'.split(' '),
  mandatory: ['source'],
};
const ofSmbDriver = {
  allowed:
    'mfsymlinks username password file_mode dir_mode ro domain vers sec version noserverino forceuid noforceuid forcegid noforcegid nodfs readonly source mount'.split(
      ' ',
    ),
  mandatory: ['source', 'username', 'password'],
};

const ids = (offering: Offering): object => ({ service_id: offering.id, plan_id: offering.plan.id });

/** Returns the mount of a binding of a new instance, or the error. */
function bound(
  offering: Offering,
  parameters: { readonly instance: object; readonly binding: object },
  scheme: VolumeIdScheme,
): VolumeMount | string {
  const context = { organization_guid: 'org', space_guid: 'space' };
  const body = { ...ids(offering), ...context, parameters: parameters.instance };
  const provision = parseProvision(body, [offering]);
  assert.ok('request' in provision);
  const planned = instanceFromRequest(instanceId, provision.request);
  if ('error' in planned) return String(planned.error.body['description']);
  const parsed = parseBind({ ...ids(offering), app_guid: appGuid, parameters: parameters.binding }, [
    offering,
  ]);
  assert.ok('request' in parsed);
  const view = { instance: planned.request, binding: undefined, bindingIds: [] };
  const target = { instanceId, bindingId: 'b' };
  const { answer, binding } = bind(view, target, parsed.request, { predecessor: undefined, scheme });
  return binding?.volumeMount ?? String(answer.body['description']);
}

const instanceId = '5d4cf7a1-7d40-4d4b-b6a9-8b1f1f3f9d2c';
const appGuid = '0b0b27a2-93e6-4b5c-9f8e-3f1d6a0b7c55';

const flag = fc.constantFrom(true, false);
const common = { readonly: flag, mount: fc.constantFrom('/a', '/var/b c') };
const user = { username: fc.constant('user'), password: fc.string({ minLength: 1, maxLength: 20 }) };
const userByRef = { username: fc.constant('user'), password_ref: fc.constantFrom('photos', 'team/photos') };
const id = fc.integer({ min: 1, max: 65_535 });
const cases = [
  {
    offering: nfs,
    driver: ofNfsDriver,
    share: 'h:/p',
    parameters: fc.oneof(
      fc.record(
        { ...common, cache: flag, auto_cache: flag, version: fc.constantFrom('3', 4.1) },
        { requiredKeys: [] },
      ),
      fc.record({ ...common, uid: id, gid: id }),
    ),
  },
  {
    offering: nfsLdap,
    driver: ofNfsDriver,
    share: '[::1]:/p',
    parameters: fc.record({ ...common, ...user }),
  },
  {
    offering: nfsLdapByRef,
    driver: ofNfsDriver,
    share: 'h:/p',
    parameters: fc.record({ ...common, ...userByRef }),
  },
  {
    offering: smbByRef,
    driver: ofSmbDriver,
    share: '//h/s',
    parameters: fc.record({ ...common, ...userByRef }),
  },
  {
    offering: smb,
    driver: ofSmbDriver,
    share: '//h/s/p',
    parameters: fc.record(
      {
        ...common,
        ...user,
        domain: fc.constant('W.example'),
        version: fc.constantFrom('3.1.1', '2.0'),
        mfsymlinks: flag,
        noserverino: flag,
        nodfs: flag,
        forceuid: flag,
        noforcegid: flag,
      },
      { requiredKeys: ['username', 'password'] },
    ),
  },
];

test('property: the upstream drivers accept every mount in a response, and a signed one verifies', () => {
  for (const { offering, driver, share, parameters } of cases)
    for (const scheme of schemes) {
      let answered = 0;
      fc.assert(
        fc.property(parameters, flag, (options, isAtBind) => {
          const given = isAtBind
            ? { instance: { share }, binding: options }
            : { instance: { share, ...options }, binding: {} };
          const mount = bound(offering, given, scheme);
          if (typeof mount === 'string') {
            assert.match(mount, /password must be a text without control characters/u);
            return;
          }
          answered += 1;
          const { volume_id: volumeId, mount_config: config } = mount.device;
          assert.deepEqual(
            Object.keys(config).filter((name) => !driver.allowed.includes(name)),
            [],
          );
          for (const name of driver.mandatory) assert.ok(name in config, name);
          for (const value of Object.values(config)) assert.equal(typeof value, 'string');
          // one part of a path, with the suffixes of volman and driver
          assert.match(volumeId, /^[A-Za-z0-9.-]+$/u);
          assert.ok(`${volumeId}_${'c'.repeat(36)}_mapfs`.length <= 255);
          if (scheme === 'md5' || 'hmacKey' in scheme) return;
          assert.deepEqual(verifyVolumeId(volumeId, config, pair.keys), {
            instanceId,
            appGuid,
            containerDir: mount.container_dir,
            mode: mount.mode,
          });
        }),
      );
      assert.ok(answered > 20, `${offering.name}: ${answered} answers`);
    }
});
