/**
 * Lets judges observe the processes of a world. It wraps methods of the product's classes, which have no hooks for judges. Outside
 * of a world the methods do what they did.
 */
import { currentWorld, type World } from '../world/world.js';

type Method = (...args: never[]) => unknown;
type MethodsOf<T> = { [K in keyof T]: T[K] extends Method ? K : never }[keyof T];

/** The judge of each world that has one. */
export class JudgeOf<J> {
  readonly #judges = new WeakMap<World, J>();

  set(world: World, judge: J): void {
    this.#judges.set(world, judge);
  }

  /** Judge of the running world; undefined outside of a world, or without one. */
  get current(): J | undefined {
    const world = currentWorld();
    return world && this.#judges.get(world);
  }
}

type Arguments<T, K extends keyof T> = Parameters<Extract<T[K], Method>>;

/** Calls `listener` with the object and the arguments before each call of the method. */
export function before<T extends object, K extends MethodsOf<T>>(
  prototype: T,
  name: K,
  listener: (of: T, args: Arguments<T, K>) => void,
): void {
  const original = prototype[name] as Method;
  replace(prototype, name, function (this: T, ...args: never[]): unknown {
    listener(this, args as unknown as Arguments<T, K>);
    return original.apply(this, args);
  });
}

/** Calls `listener` with the object, the result and the arguments after each call that does not throw. */
export function after<T extends object, K extends MethodsOf<T>>(
  prototype: T,
  name: K,
  listener: (of: T, result: ReturnType<Extract<T[K], Method>>, args: Arguments<T, K>) => void,
): void {
  const original = prototype[name] as Method;
  replace(prototype, name, function (this: T, ...args: never[]): unknown {
    const result = original.apply(this, args) as ReturnType<Extract<T[K], Method>>;
    listener(this, result, args as unknown as Arguments<T, K>);
    return result;
  });
}

const replace = (prototype: object, name: PropertyKey, value: Method): void =>
  void Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
