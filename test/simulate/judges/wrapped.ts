/**
 * Judges look into the processes of a world by wrapping methods of the product's classes: the product has no hooks for them.
 * Outside of a world the methods are as they were.
 */
import { currentWorld, type World } from '../world/world.js';

type Method = (...args: never[]) => unknown;
type MethodsOf<T> = { [K in keyof T]: T[K] extends Method ? K : never }[keyof T];

/** Of each world that has one. */
export class JudgeOf<J> {
  readonly #judges = new WeakMap<World, J>();

  set(world: World, judge: J): void {
    this.#judges.set(world, judge);
  }

  /** That of the world that runs now. */
  get now(): J | undefined {
    const world = currentWorld();
    return world && this.#judges.get(world);
  }
}

type Arguments<T, K extends keyof T> = Parameters<Extract<T[K], Method>>;

/** Calls `told` with the object and the arguments before each call of the method. */
export function before<T extends object, K extends MethodsOf<T>>(
  prototype: T,
  name: K,
  told: (of: T, args: Arguments<T, K>) => void,
): void {
  const original = prototype[name] as Method;
  replace(prototype, name, function (this: T, ...args: never[]): unknown {
    told(this, args as unknown as Arguments<T, K>);
    return original.apply(this, args);
  });
}

/** Calls `told` with the object, the result and the arguments after each call of the method that does not throw. */
export function after<T extends object, K extends MethodsOf<T>>(
  prototype: T,
  name: K,
  told: (of: T, result: ReturnType<Extract<T[K], Method>>, args: Arguments<T, K>) => void,
): void {
  const original = prototype[name] as Method;
  replace(prototype, name, function (this: T, ...args: never[]): unknown {
    const result = original.apply(this, args) as ReturnType<Extract<T[K], Method>>;
    told(this, result, args as unknown as Arguments<T, K>);
    return result;
  });
}

const replace = (prototype: object, name: PropertyKey, value: Method): void =>
  void Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
