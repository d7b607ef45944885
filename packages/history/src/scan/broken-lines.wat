;; Returns the position of the first sign of a broken line in a range of memory, -1 if there is none. A sign is a NUL, or an
;; opening brace that does not follow a line feed, a colon, a comma or a bracket: in JSON without spaces, no object begins there.
;; A text that ends with an opening brace looks the same, so a sign is only a candidate. There must be 17 readable bytes after
;; `end` and one before `at`.
(module
  (import "env" "memory" (memory 1))
  (func (export "sign") (param $at i32) (param $end i32) (result i32)
    (local $here v128) (local $before v128) (local $mask i32) (local $found i32)
    (block $none
      (loop $next
        (br_if $none (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $here (v128.load align=1 (local.get $at)))
        (local.set $before (v128.load align=1 (i32.sub (local.get $at) (i32.const 1))))
        (local.set $mask
          (i8x16.bitmask
            (v128.or
              (i8x16.eq (local.get $here) (i8x16.splat (i32.const 0)))
              (v128.andnot
                (v128.and
                  (i8x16.eq (local.get $here) (i8x16.splat (i32.const 0x7b)))
                  (i8x16.eq (v128.load offset=1 align=1 (local.get $at)) (i8x16.splat (i32.const 0x22))))
                (v128.or
                  (v128.or
                    (i8x16.eq (local.get $before) (i8x16.splat (i32.const 0x0a)))
                    (i8x16.eq (local.get $before) (i8x16.splat (i32.const 0x3a))))
                  (v128.or
                    (i8x16.eq (local.get $before) (i8x16.splat (i32.const 0x2c)))
                    (i8x16.eq (local.get $before) (i8x16.splat (i32.const 0x5b)))))))))
        (if (i32.eqz (local.get $mask))
          (then
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $next)))
        (local.set $found (i32.add (local.get $at) (i32.ctz (local.get $mask))))
        (br_if $none (i32.ge_u (local.get $found) (local.get $end)))
        (return (local.get $found))))
    (i32.const -1)))
