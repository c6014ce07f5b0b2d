import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestAttributes } from './request-attributes.ts';

const of = (method: string, url: string): unknown => {
  const { pathname: path, searchParams: query } = new URL(url, 'https://localhost');
  return requestAttributes({ method, path, query });
};

/** Cases of apiserver pkg/endpoints/request/requestinfo_test.go. */
const cases: readonly [string, string, object][] = [
  ['GET', '/api/v1/pods', { verb: 'list', group: '', resource: 'pods' }],
  ['GET', '/api/v1/namespaces', { verb: 'list', group: '', resource: 'namespaces' }],
  [
    'GET',
    '/api/v1/namespaces/n',
    { verb: 'get', group: '', resource: 'namespaces', namespace: 'n', name: 'n' },
  ],
  [
    'PUT',
    '/api/v1/namespaces/n/finalize',
    { verb: 'update', group: '', resource: 'namespaces', namespace: 'n', name: 'n', subresource: 'finalize' },
  ],
  ['GET', '/api/v1/namespaces/n/pods', { verb: 'list', group: '', resource: 'pods', namespace: 'n' }],
  [
    'GET',
    '/api/v1/namespaces/n/pods?watch=true',
    { verb: 'watch', group: '', resource: 'pods', namespace: 'n' },
  ],
  [
    'GET',
    '/api/v1/namespaces/n/pods?watch=false',
    { verb: 'list', group: '', resource: 'pods', namespace: 'n' },
  ],
  [
    'GET',
    '/api/v1/namespaces/n/pods?watch=1&fieldSelector=metadata.name%3Dp',
    { verb: 'watch', group: '', resource: 'pods', namespace: 'n', name: 'p' },
  ],
  // RBAC's resourceNames cannot allow these.
  ...(['POST', 'DELETE'] as const).map((method): [string, string, object] => [
    method,
    '/api/v1/namespaces/n/pods?fieldSelector=metadata.name%3Dp',
    {
      ...{ group: '', resource: 'pods', namespace: 'n' },
      verb: method === 'POST' ? 'create' : 'deletecollection',
    },
  ]),
  [
    'DELETE',
    '/api/v1/namespaces/n/pods',
    { verb: 'deletecollection', group: '', resource: 'pods', namespace: 'n' },
  ],
  [
    'POST',
    '/api/v1/namespaces/n/pods/p/eviction',
    { verb: 'create', group: '', resource: 'pods', namespace: 'n', name: 'p', subresource: 'eviction' },
  ],
  ['PATCH', '/apis/g.io/v1/things/t', { verb: 'patch', group: 'g.io', resource: 'things', name: 't' }],
  // The path is decoded as the route decodes it: a path in another spelling is the same request.
  [
    'GET',
    '/%61pi/v1/n%61mespaces/n/secrets/s',
    { verb: 'get', group: '', resource: 'secrets', namespace: 'n', name: 's' },
  ],
  ['GET', '/apis/g.io/v1', { verb: 'get', path: '/apis/g.io/v1' }],
  ['GET', '/api', { verb: 'get', path: '/api' }],
  ['POST', '/metrics', { verb: 'post', path: '/metrics' }],
];

for (const [method, url, requested] of cases) {
  test(`${method} ${url}`, () => assert.deepEqual(of(method, url), requested));
}
