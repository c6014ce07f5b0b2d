import { noNatsServer } from '../../../src/agent/testing/nats-server.ts';
import { openEmbeddedScene } from './embedded-scene.ts';
import { describeScenario } from './scenario.ts';

describeScenario(
  'a director deploys to the embedded cluster with our agent',
  () => openEmbeddedScene(() => undefined),
  noNatsServer,
);
