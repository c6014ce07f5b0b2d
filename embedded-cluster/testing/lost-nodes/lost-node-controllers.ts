import type { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import type { ControllerContext } from '../../controllers/controller-context.ts';
import { NodeLifecycle, type NodeTimings } from './node-lifecycle.ts';
import { PodGarbageCollector } from './pod-gc.ts';
import { TaintEviction } from './taint-eviction.ts';

/**
 * Creates the controllers that react to the loss of a node. The embedded cluster does not have them, because
 * its node and its controllers are one process and cannot lose each other; test clusters with simulated nodes
 * do.
 */
export function lostNodeControllers(context: ControllerContext, timings: NodeTimings): Controller[] {
  return [
    new NodeLifecycle(context, timings),
    new TaintEviction(context),
    new PodGarbageCollector(context, timings),
  ];
}
