import type { RequestCase } from '../testing/request-cases.ts';
import { testRequests, without, withParameters } from '../testing/request-cases.ts';
import {
  auth,
  bindBody,
  bindingPath,
  instancePath,
  nfsQuery,
  provisionBody,
  smbQuery,
} from '../testing/test-broker.ts';

const cases: readonly RequestCase[] = [
  { title: 'provision', request: ['PUT', instancePath, { body: provisionBody }], status: 201 },
  {
    title: 'provision with accepts_incomplete completes at once',
    request: ['PUT', `${instancePath}?accepts_incomplete=true`, { body: provisionBody }],
    status: 201,
  },
  {
    title: 'provision again, identical',
    before: 'instance',
    request: ['PUT', instancePath, { body: { ...provisionBody, context: { other: 1 } } }],
    status: 200,
  },
  {
    title: 'provision again, with the share in another form',
    before: 'instance',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'server:/export' }) }],
    status: 200,
  },
  {
    title: 'provision with other parameters',
    before: 'instance',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'server/other' }) }],
    status: 409,
    error: 'Conflict',
  },
  {
    title: 'provision in another space',
    before: 'instance',
    request: ['PUT', instancePath, { body: { ...provisionBody, space_guid: 'space-2' } }],
    status: 409,
  },
  ...['service_id', 'plan_id', 'organization_guid', 'space_guid'].map((name): RequestCase => ({
    title: `provision without ${name}`,
    request: ['PUT', instancePath, { body: without(provisionBody, name) }],
    status: 400,
    message: new RegExp(`^${name} is missing$`, 'u'),
  })),
  {
    title: 'provision of an unknown service and plan',
    request: ['PUT', instancePath, { body: { ...provisionBody, service_id: 'x', plan_id: 'y' } }],
    status: 400,
    message: /^service_id is not in the catalog$/u,
  },
  {
    title: "provision of another service's plan",
    request: ['PUT', instancePath, { body: { ...provisionBody, plan_id: 'y' } }],
    status: 400,
    message: /plan_id is not a plan of service nfs/u,
  },
  {
    title: 'provision without parameters',
    request: ['PUT', instancePath, { body: without(provisionBody, 'parameters') }],
    status: 400,
    message: /^- Missing mandatory options: share$/u,
  },
  {
    title: 'provision with parameters that are not an object',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, 'share') }],
    status: 400,
    message: /^parameters must be an object of names and values$/u,
  },
  {
    title: 'provision with source',
    request: ['PUT', instancePath, { body: withParameters(provisionBody, { share: 'a/b', source: 'c/d' }) }],
    status: 400,
    message: /^- Not allowed options: source$/u,
  },
  {
    title: 'provision for another version of the plan',
    request: ['PUT', instancePath, { body: { ...provisionBody, maintenance_info: { version: '1.3.0' } } }],
    status: 422,
    error: 'MaintenanceInfoConflict',
  },
  {
    title: 'provision for the version of the catalog',
    request: ['PUT', instancePath, { body: { ...provisionBody, maintenance_info: { version: '1.2.0' } } }],
    status: 201,
  },
  { title: 'a body that is not JSON', request: ['PUT', instancePath, { text: '{"a":' }], status: 400 },
  { title: 'a body that is not an object', request: ['PUT', instancePath, { text: '[]' }], status: 400 },
  { title: 'no body', request: ['PUT', instancePath], status: 400 },
  {
    title: 'a body that is not UTF-8',
    request: ['PUT', instancePath, { text: new Uint8Array([0x22, 0xff, 0x22]) }],
    status: 400,
  },
  {
    title: 'a body with another content type is read',
    request: ['PUT', instancePath, { body: provisionBody, headers: { 'content-type': 'text/plain' } }],
    status: 201,
  },
  {
    title: 'a huge body',
    request: ['PUT', instancePath, { text: `{"a":"${'x'.repeat(70_000)}"}` }],
    status: 413,
  },
  {
    title: 'an id with a slash',
    request: ['PUT', '/v2/service_instances/a%2Fb', { body: provisionBody }],
    status: 400,
  },
  {
    title: 'an id of dots',
    request: ['PUT', '/v2/service_instances/%2E%2E', { body: provisionBody }],
    status: 404,
  },
  { title: 'a path that cannot be decoded', request: ['GET', '/v2/service_instances/%ff'], status: 400 },
  { title: 'an unknown endpoint', request: ['GET', '/v2/nothing'], status: 404 },

  { title: 'fetch of an instance', before: 'instance', request: ['GET', instancePath], status: 200 },
  { title: 'fetch of a missing instance', request: ['GET', instancePath], status: 404, error: 'NotFound' },
  {
    title: 'last operation of an instance',
    before: 'instance',
    request: ['GET', `${instancePath}/last_operation`],
    status: 200,
  },
  {
    title: 'last operation of a missing instance',
    request: ['GET', `${instancePath}/last_operation`],
    status: 404,
  },

  {
    title: 'update of the share',
    before: 'binding',
    request: ['PATCH', instancePath, { body: withParameters(provisionBody, { share: 'server/other' }) }],
    status: 200,
  },
  {
    title: 'update without plan and parameters',
    before: 'instance',
    request: ['PATCH', instancePath, { body: { service_id: provisionBody.service_id } }],
    status: 200,
  },
  {
    title: 'update with a wrong share',
    before: 'instance',
    request: ['PATCH', instancePath, { body: withParameters(provisionBody, { share: 'x' }) }],
    status: 400,
  },
  {
    title: 'update of a missing instance',
    request: ['PATCH', instancePath, { body: provisionBody }],
    status: 404,
  },

  { title: 'bind', before: 'instance', request: ['PUT', bindingPath, { body: bindBody }], status: 201 },
  {
    title: 'bind again, identical',
    before: 'binding',
    request: ['PUT', bindingPath, { body: bindBody }],
    status: 200,
  },
  {
    title: 'bind with other parameters',
    before: 'binding',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { uid: '1', gid: '1' }) }],
    status: 409,
    error: 'Conflict',
  },
  {
    title: 'bind of another instance with the id of a binding',
    before: 'binding',
    request: ['PUT', bindingPath.replace('instance-1', 'elsewhere'), { body: bindBody }],
    status: 404,
  },
  {
    title: 'bind without an app, as for a service key',
    before: 'instance',
    request: ['PUT', bindingPath, { body: without(bindBody, 'app_guid') }],
    status: 422,
    error: 'RequiresApp',
  },
  {
    title: 'bind to an app in bind_resource',
    before: 'instance',
    request: [
      'PUT',
      bindingPath,
      { body: { ...without(bindBody, 'app_guid'), bind_resource: { app_guid: 'app-1' } } },
    ],
    status: 201,
  },
  {
    title: 'bind with mount: 5',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { mount: 5 }) }],
    status: 400,
    message: /mount must be an absolute path/u,
  },
  {
    title: 'bind with another share',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { share: 'a/b' }) }],
    status: 400,
    message: /^- Not allowed options: share$/u,
  },
  {
    title: 'bind with readonly: false',
    before: 'instance',
    request: ['PUT', bindingPath, { body: withParameters(bindBody, { readonly: false }) }],
    status: 201,
  },
  {
    title: 'bind without parameters',
    before: 'instance',
    request: ['PUT', bindingPath, { body: without(bindBody, 'parameters') }],
    status: 201,
  },
  {
    title: 'bind with a missing predecessor',
    before: 'binding',
    request: ['PUT', `${bindingPath}b`, { body: { ...bindBody, predecessor_binding_id: 'x' } }],
    status: 400,
  },
  { title: 'fetch of a binding', before: 'binding', request: ['GET', bindingPath], status: 200 },
  { title: 'fetch of a missing binding', before: 'instance', request: ['GET', bindingPath], status: 404 },
  {
    title: 'last operation of a binding',
    before: 'binding',
    request: ['GET', `${bindingPath}/last_operation`],
    status: 200,
  },
  {
    title: 'last operation of a missing binding',
    before: 'instance',
    request: ['GET', `${bindingPath}/last_operation`],
    status: 404,
  },

  { title: 'unbind', before: 'binding', request: ['DELETE', `${bindingPath}${nfsQuery}`], status: 200 },
  {
    title: 'unbind of a missing binding',
    before: 'instance',
    request: ['DELETE', `${bindingPath}${nfsQuery}`],
    status: 410,
  },
  {
    title: 'unbind without service and plan',
    before: 'binding',
    request: ['DELETE', bindingPath],
    status: 400,
    message: /^plan_id is missing; service_id is missing$/u,
  },
  {
    title: 'unbind of another service',
    before: 'binding',
    request: ['DELETE', `${bindingPath}${smbQuery}`],
    status: 400,
  },
  {
    title: 'unbind with a service that is given twice',
    before: 'binding',
    request: ['DELETE', `${bindingPath}${nfsQuery}&service_id=x`],
    status: 400,
  },
  {
    title: 'deprovision with bindings',
    before: 'binding',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 400,
    message: /still has bindings: binding-1; delete them first/u,
  },
  {
    title: 'deprovision',
    before: 'instance',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 200,
  },
  {
    title: 'deprovision of a missing instance',
    request: ['DELETE', `${instancePath}${nfsQuery}`],
    status: 410,
  },

  {
    title: 'no version',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': undefined } }],
    status: 412,
  },
  {
    title: 'version 1.0',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '1.0' } }],
    status: 412,
  },
  {
    title: 'version 2.12',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '2.12' } }],
    status: 412,
  },
  {
    title: 'version 2.17',
    request: ['GET', '/v2/catalog', { headers: { 'x-broker-api-version': '2.17' } }],
    status: 200,
  },
  {
    title: 'no password',
    request: ['GET', '/v2/catalog', { headers: { authorization: undefined } }],
    status: 401,
  },
  {
    title: 'a wrong password',
    request: ['GET', '/v2/catalog', { headers: { authorization: `Basic ${btoa('broker:x')}` } }],
    status: 401,
  },
  {
    title: 'the second password',
    request: [
      'GET',
      '/v2/catalog',
      { headers: { authorization: `Basic ${btoa(`broker:${auth.passwords[1]}`)}` } },
    ],
    status: 200,
  },
  {
    title: 'an invalid identity',
    request: [
      'GET',
      '/v2/catalog',
      { headers: { 'x-broker-api-originating-identity': 'cloudfoundry e30=x' } },
    ],
    status: 400,
    message: /X-Broker-API-Originating-Identity/u,
  },
  {
    title: 'metrics without a password',
    request: ['GET', '/metrics', { headers: { authorization: undefined } }],
    status: 401,
  },
  {
    title: 'health without a password',
    request: ['GET', '/healthz', { headers: { authorization: undefined } }],
    status: 200,
  },
];

// the status tables in spec.md of OSBAPI 2.17
testRequests('the broker returns the statuses of OSBAPI 2.17', cases);
