// One function a kind of a variant: std::visit(Cases{[](const A&) …, [](const B&) …}, value).
#pragma once

namespace eider {

template <typename... Ts>
struct Cases : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Cases(Ts...) -> Cases<Ts...>;

}  // namespace eider
