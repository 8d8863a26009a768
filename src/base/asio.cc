// The one file that compiles Asio and Beast; everybody else sees their declarations only
// (BOOST_ASIO_SEPARATE_COMPILATION, BOOST_BEAST_SEPARATE_COMPILATION in cmake/EiderModule.cmake).
//
// g++ 12 sees null pointers in Asio that are not there.
#pragma GCC diagnostic ignored "-Wnull-dereference"

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
